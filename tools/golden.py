"""Freeze what the program prints, so that a refactoring is shown to change nothing.

    python tools/golden.py record OUT [--source ROOT] [--sample N] [--only PATTERN]
    python tools/golden.py compare A B [--common]
    python tools/golden.py against REVISION    what `make golden BASE=REVISION` runs

The cases are those of this checkout (golden_cases.py); the code that runs them is that
of any checkout, by its command line alone. A recording is a folder with one database:
per case the exit code, standard output and error of each command, and each file that
they wrote. Clock, environment and paths are the same in every recording; a style sheet
or script that thousands of pages repeat is kept once.
"""

import argparse
import base64
import difflib
import fnmatch
import gc
import hashlib
import itertools
import json
import multiprocessing
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from golden_cases import ALL_FORMS, FLEET_FORMS, Case, Draft, drafts, judge, materialise

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "build" / "golden"
SECONDS_OF_A_COMMAND = 30  # of a processor, so that a busy machine changes nothing
_FEW = 4
_STORE = "cases.sqlite"
_WIDTH = 200  # of a line that is shown
RAISED = 250  # exit status of a command that raised what it should have caught
Documents = dict[str, str]  # by "1 stdout", "out/report.json" and so on

# Examples, and commands that import all rules and most of the rest.
_WARMING = (
    ("several-files", ("explain", "COMM-001")),
    ("several-files", judge((".",), ALL_FORMS)),
    ("several-files", ("plan", ".")),
    ("faulty-node", judge((".",))),
    ("llama-3-70b", judge((".",))),
    ("several-files", ("simulate", "--nodes=2", "--out=../fleet", "--quiet")),
    ("several-files", judge(("fleet", "../fleet", "--cores=1"), FLEET_FORMS)),
)
# Kept once: what pages repeat.
_REPEATED = re.compile(r"(<(style|script)\b[^>]*>)(.{400,}?)(</\2>)", re.DOTALL)
_REFERENCE = re.compile(r"(?<=>)<kept ([0-9a-f]{16})>(?=</)")
_ENVELOPE = re.compile(r'("payload": ?")([A-Za-z0-9+/=]{40,})(")')
_VARYING = (
    (re.compile(r'("sig": ?")[^"]+'), r"\1<signature>"),
    (re.compile(r"(KEY-----\n)[^-]+(-----END)"), r"\1<key>\n\2"),
    (re.compile(r"(key id +)[0-9a-f]{64}"), r"\1<key id>"),
    # Certificates name the program by the digest of its own files.
    (re.compile(r'("rules_sha256": ?")[0-9a-f]{64}'), r"\1<program>"),
    (re.compile(r"(rules, sha256</th><td><code[^>]*>)[0-9a-f]{64}"), r"\1<program>"),
    (re.compile(r"\b(\d{8}T\d{6}Z)-[0-9a-f]{8}\b"), r"\1-<run>"),
)


@dataclass(frozen=True)
class Recorded:
    """What came out of a case.

    Attributes:
        name: of the case.
        inputs: digest of its files and commands.
        seconds: how long it took.
        documents: what it printed and wrote, compressed.
        repeated: bodies of style sheets and scripts, by digest.

    """

    name: str
    inputs: str
    seconds: float
    documents: bytes
    repeated: dict[str, str]


# --- Run a case: in a worker, which forks for each command ---------------------------


def _enter(source: str, scratch: str) -> None:
    """Prepare a worker: the code of a checkout, a fixed clock, no terminal."""
    os.environ["GOLDEN_SCRATCH"] = scratch
    imports = str(Path(source) / ".imports")
    sys.path[:] = [imports, *(p for p in sys.path if not p.endswith(".imports"))]
    sys.dont_write_bytecode = False  # it costs half of the time to compile each time
    time.time = lambda: float(os.environ["SOURCE_DATE_EPOCH"])
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


@cache
def _warm() -> None:
    """Load in the worker what most commands need, so that forks share it."""
    from speccheck.validator.cli import main  # noqa: PLC0415 - of the source's path

    folder = Path(os.environ["GOLDEN_SCRATCH"]) / f"warm-{os.getpid()}"
    (folder / "out").mkdir(parents=True)
    examples = ROOT / "fixtures" / "examples"
    for name in ("several-files", "faulty-node", "llama-3-70b"):
        shutil.copytree(examples / name, folder / name)
    for name, words in _WARMING:
        os.chdir(folder / name)
        try:
            main.main(list(words))
        except SystemExit:
            continue
    sys.stdout.flush()
    os.chdir("/")
    gc.collect()
    gc.freeze()


def _forked(words: tuple[str, ...], folder: Path, case: Case) -> str:
    """Run a command in a child process; returns how it ended."""
    child = os.fork()
    if child == 0:
        _command(words, folder, case)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code in {-signal.SIGALRM, -signal.SIGPROF}:
        return "timeout"
    return "raised" if code == RAISED else str(code)


def _command(words: tuple[str, ...], folder: Path, case: Case) -> None:
    """Be the child process: run the command line and end."""
    code = RAISED
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_A_COMMAND)
        signal.alarm(10 * SECONDS_OF_A_COMMAND)  # for one that waits
        gc.disable()
        for number, name in ((1, "stdout"), (2, "stderr")):
            target = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(target, number)
        (folder / "stdin").write_text(case.stdin, encoding="utf-8")
        os.dup2(os.open(folder / "stdin", os.O_RDONLY), 0)
        os.environ["SOURCE_DATE_EPOCH"] = str(case.epoch)
        os.chdir(folder / "in")
        from speccheck.validator.cli import main  # noqa: PLC0415 - loaded by _warm

        try:
            code = main.main(list(words))
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else bool(ending.code)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - it is what is recorded
        last = traceback.format_exception_only(error)[-1]
        os.write(2, last.encode("utf-8", "replace"))
    finally:
        os._exit(code & 0xFF)


def run_case(case: Case) -> Recorded:
    """Run the commands of a case in a folder of its own."""
    _warm()
    began = time.monotonic()
    short = hashlib.sha256(case.name.encode()).hexdigest()[:10]
    folder = Path(os.environ["GOLDEN_SCRATCH"]) / short
    before = materialise(case, folder / "in")
    documents: Documents = {}
    for number, words in enumerate(case.commands, 1):
        (folder / "out").mkdir()
        documents[f"{number} exit"] = _forked(words, folder, case)
        (folder / "out").rename(folder / f"out{number}")
        for name in ("stdout", "stderr"):
            documents[f"{number} {name}"] = _text(folder / name)
        if number == case.preparations:
            case.prepare(folder / "in")
            before = {path: path.read_bytes() for path in _files(folder / "in")}
            documents.clear()
    documents |= {f"in/{path.name}": "<gone>" for path in before if not path.exists()}
    for path in _files(folder):
        if path.parent != folder and before.get(path) != path.read_bytes():
            documents[str(path.relative_to(folder))] = _text(path)
    shutil.rmtree(folder)
    repeated: dict[str, str] = {}
    documents = {
        name: _normalised(text, folder, repeated) for name, text in documents.items()
    }
    content = zlib.compress(json.dumps(documents, sort_keys=True).encode(), 6)
    seconds = time.monotonic() - began
    return Recorded(case.name, case.inputs, seconds, content, repeated)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _text(path: Path) -> str:
    content = path.read_bytes() if path.exists() else b""
    if content.startswith(b"SQLite format"):
        return "a database\n"  # its bytes follow its library; `history` tells the rest
    if content.startswith(b"\x1f\x8b"):
        content = zlib.decompress(content, 31)
    return content.decode("utf-8", "backslashreplace")


def _normalised(text: str, folder: Path, repeated: dict[str, str]) -> str:
    """Take out what differs between two recordings of the same code."""

    def keep(match: re.Match[str]) -> str:
        digest = hashlib.sha256(match[3].encode()).hexdigest()[:16]
        repeated[digest] = match[3]
        return f"{match[1]}<kept {digest}>{match[4]}"

    text = _ENVELOPE.sub(lambda m: m[1] + _payload(m[2]) + m[3], text)
    text = text.replace(str(folder), "<case>").replace(str(folder.parent), "<scratch>")
    for pattern, placeholder in _VARYING:
        text = pattern.sub(placeholder, text)
    return _REPEATED.sub(keep, text)


def _payload(encoded: str) -> str:
    return base64.b64decode(encoded).decode("utf-8", "replace")


# --- Record ---------------------------------------------------------------------------


def _opened(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    store = sqlite3.connect(folder / _STORE)
    store.executescript(
        "CREATE TABLE IF NOT EXISTS cases"
        " (name TEXT PRIMARY KEY, inputs TEXT, seconds REAL, documents BLOB);"
        "CREATE TABLE IF NOT EXISTS repeated (digest TEXT PRIMARY KEY, text TEXT);"
    )
    return store


def record(out: Path, source: Path, cases: list[Case], jobs: int) -> None:
    """Run cases with the code of a checkout; what is recorded already stays."""
    began = time.monotonic()
    store = _opened(out)
    known = dict(store.execute("SELECT name, inputs FROM cases").fetchall())
    todo = [case for case in cases if known.get(case.name) != case.inputs]
    scratch = tempfile.mkdtemp(prefix="golden-")
    os.environ.update(_environment(scratch))
    context = multiprocessing.get_context("spawn")
    try:
        with context.Pool(jobs, _enter, (str(source.resolve()), scratch)) as pool:
            for number, recorded in enumerate(
                pool.imap_unordered(run_case, todo, 4), 1
            ):
                row = (
                    recorded.name,
                    recorded.inputs,
                    recorded.seconds,
                    recorded.documents,
                )
                store.execute("INSERT OR REPLACE INTO cases VALUES (?, ?, ?, ?)", row)
                store.executemany(
                    "INSERT OR IGNORE INTO repeated VALUES (?, ?)",
                    recorded.repeated.items(),
                )
                if number % 100 == 0:
                    store.commit()
                    print(f"{number} of {len(todo)}", file=sys.stderr)
    finally:
        store.commit()
        shutil.rmtree(scratch, ignore_errors=True)
    wall = time.monotonic() - began
    print(f"{out}: {len(todo)} cases in {wall:.0f} s, {len(cases) - len(todo)} kept")
    slow = "SELECT name, seconds FROM cases ORDER BY seconds DESC LIMIT 3"
    print("slowest:", ", ".join(f"{n} {s:.1f} s" for n, s in store.execute(slow)))
    store.close()


def _environment(scratch: str) -> dict[str, str]:
    """Return an environment that is empty but for what makes two runs the same."""
    path = os.environ["PATH"]
    os.environ.clear()
    return {
        "PATH": path,
        "HOME": scratch,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": "1795327200",
    }


def selected(all_drafts: list[Draft], only: str, sample: int) -> list[Case]:
    """Return the cases to run: those of a pattern, and of each part the same share."""
    parts: dict[str, list[Draft]] = defaultdict(list)
    for draft in all_drafts:
        if fnmatch.fnmatchcase(draft.name, only):
            parts[draft.name.partition("/")[0]].append(draft)
    ranked: list[tuple[float, str, Draft]] = []
    for part in parts.values():
        part.sort(key=lambda draft: hashlib.sha256(draft.name.encode()).digest())
        ranked += [(i / len(part), d.name, d) for i, d in enumerate(part)]
    ranked.sort(key=lambda row: row[:2])
    chosen = [draft.make() for _, _, draft in ranked[: sample or None]]
    cases = [case for case in chosen if case is not None]
    counts = Counter(case.name.partition("/")[0] for case in cases)
    text = ", ".join(f"{count} {part}" for part, count in sorted(counts.items()))
    print(f"{len(cases)} cases ({text}); no command for {len(chosen) - len(cases)}")
    return cases


# --- Compare --------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A piece of a document that changed, maybe in the same way in many cases.

    Attributes:
        document: such as "1 stdout" or "out1/report.html".
        changed: the lines, each with + or - before it.

    """

    document: str
    changed: tuple[str, ...]


def _reading(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{folder.resolve() / _STORE}?mode=ro", uri=True)


def _names(folder: Path) -> set[str]:
    return {name for (name,) in _reading(folder).execute("SELECT name FROM cases")}


def compare(
    first: Path, second: Path, names: set[str] | None, diff_lines: int, most: int
) -> int:
    """Print what differs between recordings; returns in how many cases, 1 for none."""
    sides = [_reading(folder) for folder in (first, second)]
    rows = [
        {
            row[0]: row[1:]
            for row in side.execute("SELECT name, inputs, documents FROM cases")
        }
        for side in sides
    ]
    bodies = [dict(side.execute("SELECT * FROM repeated").fetchall()) for side in sides]
    wanted = rows[0].keys() | rows[1].keys() if names is None else names
    missing = sorted(wanted & rows[0].keys() - rows[1].keys())
    new = sorted(wanted & rows[1].keys() - rows[0].keys())
    groups: dict[Difference, list[str]] = defaultdict(list)
    examples: dict[Difference, list[str]] = {}
    differing, other_inputs = 0, 0
    for name in sorted(wanted & rows[0].keys() & rows[1].keys()):
        if rows[0][name] == rows[1][name]:
            continue
        other_inputs += rows[0][name][0] != rows[1][name][0]
        pair = [json.loads(zlib.decompress(row[name][1])) for row in rows]
        differing += pair[0] != pair[1]
        for difference, diff in _differences(pair[0], pair[1], bodies):
            groups[difference].append(name)
            examples.setdefault(difference, diff)
    for title, item in (("missing", missing), ("new", new)):
        if item:
            print(f"{len(item)} cases {title}: {', '.join(item[:10])}")
    ordered = sorted(groups, key=lambda difference: -len(groups[difference]))
    for difference in ordered[:most]:
        cases = groups[difference]
        print(f"\n=== {difference.document}, {len(cases)} cases: ", end="")
        print(", ".join(cases[:3]), "" if len(cases) < _FEW else "...")
        lines = examples[difference]
        print("\n".join(line[: _WIDTH + 4] for line in lines[:diff_lines]))
        if len(lines) > diff_lines:
            print(f"... {len(lines) - diff_lines} more lines")
    if len(ordered) > most:
        print(f"\n{len(ordered) - most} more differences")
    compared = len(wanted & rows[0].keys() & rows[1].keys())
    print(
        f"{compared} cases compared: {differing} differ in {len(groups)} ways, "
        f"{len(missing)} missing, {len(new)} new, {other_inputs} with other inputs"
    )
    return differing + len(missing) + len(new) + (not compared)


def _differences(
    first: Documents, second: Documents, bodies: list[dict[str, str]]
) -> Iterator[tuple[Difference, list[str]]]:
    for document in sorted(first.keys() | second.keys()):
        old, new = first.get(document), second.get(document)
        if old == new:
            continue
        before, after = _lines(old, bodies[0]), _lines(new, bodies[1])
        if before == after:
            before, after = [repr(old)], [repr(new)]
        matcher = difflib.SequenceMatcher(None, before, after)
        for group in matcher.get_grouped_opcodes(1):
            hunk = [f"@@ line {group[0][1] + 1} @@"]
            for tag, low, high, new_low, new_high in group:
                if tag == "equal":
                    hunk += [" " + line for line in before[low:high]]
                else:
                    pair = before[low:high], after[new_low:new_high]
                    hunk += [*_cut("-", *pair), *_cut("+", *reversed(pair))]
            changed = tuple(line for line in hunk if line.startswith(("+", "-")))
            yield Difference(document, changed), hunk


def _cut(sign: str, lines: list[str], others: list[str]) -> Iterator[str]:
    """Yield the changed lines; of long ones what lies around the first difference."""
    for line, other in itertools.zip_longest(lines, others[: len(lines)], fillvalue=""):
        pairs = enumerate(zip(line, other, strict=False))
        same = next((at for at, (first, second) in pairs if first != second), 0)
        start = max(0, same - _WIDTH // 2) if len(line) > _WIDTH else 0
        yield sign + ("..." if start else "") + line[start : start + _WIDTH]


def _lines(text: str | None, bodies: dict[str, str]) -> list[str]:
    """Return a document in lines that a diff can tell apart."""
    if text is None:
        return ["<no such document>"]
    text = _REFERENCE.sub(lambda match: f"\n{bodies[match[1]]}\n", text)
    if text.startswith(("{", "[")):
        try:
            text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        except ValueError:
            return text.splitlines()
    elif "</html>" in text:
        text = text.replace("><", ">\n<").replace("}", "}\n")
    return text.splitlines()


def _tool_digest() -> str:
    """Return the digest of what makes recordings: those of another tool are no use."""
    files = (Path(__file__), Path(__file__).with_name("golden_cases.py"))
    return hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()[:8]


def against(revision: str, cases: list[Case], jobs: int) -> tuple[Path, Path]:
    """Record a revision, once, and the working tree; returns both recordings."""
    git = ["git", "-C", str(ROOT)]
    name = f"{revision}^{{commit}}"
    process = subprocess.run(
        [*git, "rev-parse", "--verify", name],
        capture_output=True,
        text=True,
        check=True,
    )
    base = GOLDEN / f"{process.stdout.strip()}-{_tool_digest()}"
    working = GOLDEN / "working"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        subprocess.run(
            [*git, "worktree", "add", "--quiet", "--detach", tree, name], check=True
        )
        try:
            record(base, tree, cases, jobs)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", tree], check=True)
    shutil.rmtree(working, ignore_errors=True)
    record(working, ROOT, cases, jobs)
    return base, working


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser(
        "record", help="run the cases and keep what they say"
    )
    recording.add_argument("out", type=Path)
    recording.add_argument("--source", type=Path, default=ROOT)
    help_text = "keep what was recorded of these cases before, by the same code"
    recording.add_argument("--keep", action="store_true", help=help_text)
    comparing = commands.add_parser("compare", help="print what differs; exit 1 if so")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    help_text = "only cases that both have: a sample against a whole recording"
    comparing.add_argument("--common", action="store_true", help=help_text)
    both = commands.add_parser("against", help="a revision against the working tree")
    both.add_argument("revision")
    for command in (recording, both):
        command.add_argument("--jobs", type=int, default=2)
        command.add_argument("--only", default="*", help="pattern of names of cases")
        command.add_argument(
            "--sample", type=int, default=0, help="so many, of all parts"
        )
    for command in (comparing, both):
        command.add_argument("--diff-lines", type=int, default=40)
        command.add_argument(
            "--most", type=int, default=25, help="differences to print"
        )
    words = parser.parse_args()
    if words.command == "compare":
        folders = words.first, words.second
        for folder in folders:
            if not (folder / _STORE).is_file():
                parser.error(f"{folder}: no recording")
        names = _names(words.first) & _names(words.second) if words.common else None
    else:
        cases = selected(drafts(), words.only, words.sample)
        names = {case.name for case in cases}
        if words.command == "record":
            if not words.keep:
                shutil.rmtree(words.out, ignore_errors=True)
            record(words.out, words.source, cases, words.jobs)
            return 0
        folders = against(words.revision, cases, words.jobs)
    return 1 if compare(*folders, names, words.diff_lines, words.most) else 0


if __name__ == "__main__":
    sys.exit(main())
