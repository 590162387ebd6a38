"""speccheck beside other linters, in one run: what each finds and what each costs.

    make bench-peers                                       writes it into docs/peers.md
    make bench-peers BENCH_ARGUMENTS='--cases FOLDER'      the same with labelled cases

Two sets of files: the first `fail` and the first `pass` fixture of every fourth rule,
as far as they are configurations; and, where a folder is given, cases with a bad and a
good twin.

A tool tells two sets apart when it says something of the bad one that it does not say
of the good one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import yaml

from configurations import TEMPLATES, fill
from peer_tools import (
    ROOT,
    SPECCHECK,
    Answer,
    Job,
    Speccheck,
    Tool,
    ToolFinding,
    all_tools,
    environment,
    schema_of,
    versions,
)
from run import machine

PAGE = ROOT / "docs" / "peers.md"
FIXTURES = ROOT / "fixtures" / "rules"
EXAMPLES = ROOT / "fixtures" / "examples"
_BEGIN, _END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
_BASELINE = (sys.executable, "-c", "pass")
_NATIVE = "size-l-fails.yaml"  # the one example that every tool reads
_MANY = 100
_READABLE = (".yaml", ".yml", ".json", ".toml", ".sh", ".sbatch", ".slurm", ".env")
_FLAGS = {"instance_type": "instance"}


class Pair(NamedTuple):
    """A bad and a good set of files, in folders; a trap has no bad one."""

    name: str
    bad: Job | None
    good: Job


class Score(NamedTuple):
    """What one tool made of all pairs."""

    read: int
    apart: int
    good_errors: int
    good_findings: int


class Cost(NamedTuple):
    """The cheapest of several runs."""

    cpu_seconds: float
    wall_seconds: float


def fixture_pairs(folder: Path) -> Iterator[Pair]:
    """Yield the first fail and pass fixture of each rule that peers can read."""
    for rule in sorted(FIXTURES.iterdir()):
        jobs = [
            _fixture_job(rule, outcome, folder / rule.name / outcome)
            for outcome in ("fail", "pass")
        ]
        if all(jobs):
            yield Pair(rule.name, *jobs)  # type: ignore[arg-type]


def _fixture_job(rule: Path, outcome: str, folder: Path) -> Job | None:
    for path in sorted(rule.glob(f"{outcome}_*.yaml")):
        result: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        files: dict[str, str] = result.get("files", {})
        if not files or not all(_is_configuration(*item) for item in files.items()):
            continue
        for name, text in files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        flags = tuple(_flags(result.get("context", {})))
        return Job(folder, tuple(files), flags)
    return None


def _is_configuration(name: str, text: str) -> bool:
    """Return whether peers would read it: snapshots of machines and logs are none."""
    base = name.rpartition("/")[2]
    is_readable = base.endswith(_READABLE) or base.startswith(".env")
    return is_readable and "speccheck-snapshot/" not in text


def _flags(context: dict[str, Any]) -> Iterator[str]:
    for name, value in context.items():
        flag = "--" + _FLAGS.get(name, name).replace("_", "-")
        for item in value if isinstance(value, list) else [value]:
            yield from (flag, str(item))


def case_pairs(folder: Path) -> Iterator[Pair]:
    """Yield the cases: folders with case.yaml, bad/ and good/; traps have no bad/."""
    for path in sorted(folder.glob("*/case.yaml")):
        case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        flags = tuple(_flags(case.get("command_context") or {}))
        files = tuple(case["files"])
        good = Job(path.parent / "good", files, flags)
        is_trap = bool(case.get("trap"))
        bad = None if is_trap else Job(path.parent / "bad", files, flags)
        yield Pair(path.parent.name, bad, good)


def every(step: int, pairs: Iterable[Pair]) -> list[Pair]:
    """Return each so-manieth of them, with what each file is."""
    return [with_formats(pair) for pair in islice(pairs, 0, None, step)]


def with_formats(pair: Pair) -> Pair:
    """Return the pair with the kind of each file, which chooses a schema."""

    def known(job: Job) -> Job:
        files = Speccheck().report(job)["files"]
        formats = ((file["path"], file["format"] or "") for file in files)
        return job._replace(formats=tuple(formats))

    bad = known(pair.bad) if pair.bad is not None else None
    return pair._replace(bad=bad, good=known(pair.good))


def score(
    tool: Tool, pairs: Sequence[Pair], key: Callable[[ToolFinding], object]
) -> Score:
    """Return what a tool makes of the pairs; key: by what two sayings are the same."""

    def ask(pair: Pair) -> tuple[Answer | None, Answer]:
        bad = tool.ask(pair.bad) if pair.bad is not None else None
        return bad, tool.ask(pair.good)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(ask, pairs))
    twins = [(bad, good) for bad, good in answers if bad is not None]
    return Score(
        read=sum(bad.read for bad, _ in twins),
        apart=sum(
            bool({*map(key, bad.findings)} - {*map(key, good.findings)})
            for bad, good in twins
        ),
        good_errors=sum(any(t.is_error for t in good.findings) for _, good in answers),
        good_findings=sum(bool(good.findings) for _, good in answers),
    )


def costs(commands: Sequence[Sequence[str]], folder: Path, runs: int) -> list[Cost]:
    """Return the cheapest run of each command, all of them in turn."""
    for command in commands:
        _cost(command, folder)
    rounds = [[_cost(command, folder) for command in commands] for _ in range(runs)]
    return [
        Cost(*map(min, zip(*item, strict=True))) for item in zip(*rounds, strict=True)
    ]


def _cost(command: Sequence[str], folder: Path) -> Cost:
    began = perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(used.ru_utime + used.ru_stime, perf_counter() - began)


def cost_rows(tools: Path, runs: int) -> Iterator[tuple[str, ...]]:
    """Yield what each tool costs for one common file, and for a hundred of YAML."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = (EXAMPLES / "native" / _NATIVE).read_text(encoding="utf-8")
        (folder / _NATIVE).write_text(text, encoding="utf-8")
        template = TEMPLATES / "axolotl.yaml"
        many = [f"{number}.yaml" for number in range(_MANY)]
        for number, text in enumerate(many):
            (folder / text).write_text(fill(template, number), encoding="utf-8")
        yield from _cost_rows("one file", [_NATIVE], "native", tools, folder, runs)
        few = max(3, runs // 5)
        yield from _cost_rows(
            f"{_MANY} files of YAML", many, "axolotl", tools, folder, few
        )


def _cost_rows(
    what: str, files: list[str], form: str, tools: Path, folder: Path, runs: int
) -> Iterator[tuple[str, ...]]:
    schema = schema_of(form) or schema_of("native")
    commands: dict[str, tuple[str, ...]] = {
        "python -c pass": _BASELINE,
        "speccheck": (*SPECCHECK, "--each", *files),
        "yamllint": (str(tools / "yamllint"), *files),
        "check-jsonschema": (
            *(str(tools / "check-jsonschema"), "--schemafile", str(schema)),
            *files,
        ),
    }
    if len(files) == 1:
        commands["traincheck"] = (str(tools / "traincheck"), "check", *files)
    result = dict(
        zip(commands, costs(list(commands.values()), folder, runs), strict=True)
    )
    least, ours = result["python -c pass"], result["speccheck"]
    for name, cost in result.items():
        yield (
            what,
            name,
            f"{cost.cpu_seconds / least.cpu_seconds:.1f}",
            f"{cost.cpu_seconds / ours.cpu_seconds:.2f}",
            f"{cost.wall_seconds / ours.wall_seconds:.2f}",
        )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = list(rows)
    rule = ["---:" if _is_number(text) else "---" for text in body[0]]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdecimal()


def _score_table(scores: dict[str, Score], pairs: Sequence[Pair]) -> str:
    twins = sum(pair.bad is not None for pair in pairs)
    head = (
        "tool",
        f"reads, of {twins}",
        f"tells apart, of {twins}",
        f"error on a good one, of {len(pairs)}",
        f"anything on a good one, of {len(pairs)}",
    )
    return _table(head, ((name, *map(str, item)) for name, item in scores.items()))


def measured(options: argparse.Namespace) -> Iterator[str]:
    """Yield the measured part of the page."""
    tools: Path = options.tools
    known = versions(tools)
    packages = ("yamllint", "check-jsonschema", "traincheck-lint")
    shown = ", ".join(
        f"{package} {known.get(package, 'not installed')}" for package in packages
    )
    yield f"{machine()}; {shown}.\n"
    yield "### What it costs\n"
    head = (
        "files",
        "tool",
        "CPU, to `python -c pass`",
        "CPU, to speccheck",
        "wall clock",
    )
    yield _table(head, cost_rows(tools, options.runs))
    with tempfile.TemporaryDirectory() as name:
        pairs = every(options.every, fixture_pairs(Path(name)))
        yield "### What it finds in our fixtures\n"
        yield _score_table(
            {tool.name: score(tool, pairs, _by_rule) for tool in all_tools(tools)},
            pairs,
        )
    if options.cases is not None:
        pairs = every(1, case_pairs(options.cases))
        yield "### What it finds in cases with twins\n"
        yield _score_table(
            {tool.name: score(tool, pairs, _as_row) for tool in all_tools(tools)},
            pairs,
        )


def _by_rule(result: ToolFinding) -> object:
    return result.rule


def _as_row(result: ToolFinding) -> object:
    return result


def main() -> int:
    """Measure, print, and write it into the page; returns the exit code."""
    parser = argparse.ArgumentParser(description="speccheck beside other linters.")
    tools = ROOT / ".venv-peers" / "bin"
    parser.add_argument("--tools", type=Path, default=tools, help="folder of commands")
    parser.add_argument("--cases", type=Path, help="folder of cases with twins")
    parser.add_argument("--runs", type=int, default=15, help="of each short command")
    parser.add_argument("--every", type=int, default=4, help="rule: its fixtures")
    parser.add_argument("--write", action="store_true", help="into docs/peers.md")
    options = parser.parse_args()
    options.cases = options.cases.resolve() if options.cases else None
    if not (options.tools / "python").exists():
        sys.exit(f"{options.tools}: no tools there; make bench-peers installs them")
    text = "\n".join(measured(options))
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(_BEGIN)
        after = rest.partition(_END)[2]
        PAGE.write_text(f"{before}{_BEGIN}\n{text}\n{_END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
