"""Seed faults into the program, one at a time, and see whether the tests notice.

    python tools/mutations.py                       # 40 faults, the everyday tests
    python tools/mutations.py --slow                # where they pass, the slow ones too
    python tools/mutations.py --list                # the faults alone
    python tools/mutations.py --only 3,17 --seed 2

A fault is one small edit of a rule, a reader or the engine, chosen at random among all
places where it could be made; the same seed and the same sources give the same faults.
Each is tried in a copy of the repository, by the tests that are most likely to see it
first and by all everyday tests at last. House and documentation tests do not count:
that a page is no longer the generated one says nothing about behaviour.

Exit code: 0 where every fault was seen by the everyday tests, 1 otherwise.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Group(NamedTuple):
    """A part of the program that gets faults.

    Attributes:
        share: Of all faults, against the shares of the other groups.
        sources: Globs of its modules; one without a file is passed over.
        tests: Globs of the test files that are about it.
    """

    share: int
    sources: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    "rules": Group(4, ("rules/*/*.py",), ("test_engine.py", "test_*_rules.py")),
    "readers": Group(
        3,
        ("validator/sources/**/*.py",),
        (
            *("test_reader_*.py", "test_document[s_]*.py", "test_shell*.py"),
            *("test_telemetry*.py", "test_interpolation.py", "test_cli.py"),
            *("test_grouping.py", "test_hydra*.py", "test_job*.py", "test_plan*.py"),
            *("test_waiver*.py", "test_fixing*.py", "test_container_image.py"),
        ),
    ),
    "engine": Group(
        3,
        (
            *("validator/engine/**/*.py", "validator/run/**/*.py"),
            *("validator/rule/**/*.py", "validator/*.py"),
        ),
        (
            *("test_engine.py", "test_waiver*.py", "test_settings*.py", "test_cli.py"),
            *("test_tailoring*.py", "test_report_*.py", "test_proposal*.py"),
            *("test_node_*.py", "test_plan*.py", "test_path_pattern.py"),
        ),
    ),
}
NOT_BEHAVIOUR = (
    *("test_house*.py", "test_rooms.py", "test_docs.py", "test_documentation*.py"),
    *("test_contributing.py", "test_start_up.py"),
)
FIXTURES = "tests/test_rules.py"
MOST_NEAR = 20  # files that name a module; a common word is in more
IN_PARALLEL = ("--numprocesses", "auto", "--dist", "worksteal")
MOST_SECONDS = 1800  # of one run of tests; a fault may well make a loop endless

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_LEVELS = {
    "error": "warning",
    "warning": "error",
    "info": "warning",
    "must": "should",
    "should": "must",
    "may": "should",
    "pass": "unknown",
    "unknown": "pass",
    "fail": "unknown",
    "not_applicable": "pass",
}
_PLACES = ("at", "place", "places", "line", "locations")

# What is replaced, and by which text.
Part = tuple[ast.expr | ast.stmt | ast.keyword, str]


class Fault(NamedTuple):
    """One edit of one file.

    Attributes:
        path: Of the file, from the root of the repository.
        group: Which part of the program it belongs to, a key of `GROUPS`.
        kind: A key of `KINDS`.
        line: Where the edit begins, from 1.
        start: Byte offset of what is replaced.
        end: Byte offset behind it.
        before: What is replaced.
        after: What it is replaced by.
    """

    path: str
    group: str
    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the fault in it."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def __str__(self) -> str:
        """Return it in one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.path}:{self.line} {self.kind}: `{before}` -> `{after}`"


def _comparisons(node: ast.AST) -> Iterator[Part]:
    if isinstance(node, ast.Compare):
        other = _COMPARISONS[type(node.ops[0])]()
        changed = ast.Compare(node.left, [other, *node.ops[1:]], node.comparators)
        yield node, f"({ast.unparse(changed)})"


def _conditions(node: ast.AST) -> Iterator[Part]:
    if isinstance(node, ast.If | ast.IfExp):
        yield node.test, f"(not ({ast.unparse(node.test)}))"
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield test, f"(not ({ast.unparse(test)}))"


def _off_by_one(node: ast.AST) -> Iterator[Part]:
    operands: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        operands = node.comparators
    elif isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Subscript):
        operands = [node.slice]
    elif isinstance(node, ast.Return) and node.value is not None:
        operands = [node.value]
    for operand in operands:
        if isinstance(operand, ast.Constant) and type(operand.value) is int:
            yield operand, str(operand.value + 1)


def _dropped_places(node: ast.AST) -> Iterator[Part]:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in _PLACES and not isinstance(keyword.value, ast.Constant):
                yield keyword, f"{keyword.arg}=()"


def _swapped_levels(node: ast.AST) -> Iterator[Part]:
    if isinstance(node, ast.Constant) and node.value in _LEVELS:
        yield node, repr(_LEVELS[node.value])


def _removed_yields(node: ast.AST) -> Iterator[Part]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom):
        # Still a generator, whatever else it yields.
        yield node, "yield from ()"


KINDS: dict[str, Callable[[ast.AST], Iterator[Part]]] = {
    "changed comparison": _comparisons,
    "negated condition": _conditions,
    "off by one": _off_by_one,
    "dropped place": _dropped_places,
    "swapped level": _swapped_levels,
    "removed yield": _removed_yields,
}


def _run_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Return the nodes of the bodies of functions, which run; no annotations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                yield from _below(statement)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return  # found by itself
    yield node
    if isinstance(node, ast.JoinedStr):
        return  # the wording of a message
    for child in ast.iter_child_nodes(node):
        yield from _below(child)


def faults_in(path: Path, group: str, root: Path = ROOT) -> list[Fault]:
    """Return all faults that a file could have, in the order of its lines."""
    source, name = path.read_bytes(), path.relative_to(root).as_posix()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    faults = []
    for node in _run_nodes(ast.parse(source)):
        for kind, edits in KINDS.items():
            for part, after in edits(node):
                start = lines[part.lineno - 1] + part.col_offset
                end = lines[(part.end_lineno or 0) - 1] + (part.end_col_offset or 0)
                before = source[start:end].decode()
                edit = (part.lineno, start, end, before, after)
                faults.append(Fault(name, group, kind, *edit))
    return sorted(faults)


def possible_faults(root: Path = ROOT) -> dict[tuple[str, str], list[Fault]]:
    """Return all faults that there could be, by group and kind."""
    result: dict[tuple[str, str], list[Fault]] = {}
    for group, part in GROUPS.items():
        paths = {path for pattern in part.sources for path in root.glob(pattern)}
        for path in sorted(paths):
            for fault in faults_in(path, group, root):
                result.setdefault((group, fault.kind), []).append(fault)
    return result


def chosen_faults(seed: int, count: int, root: Path = ROOT) -> list[Fault]:
    """Return faults at random: of each group its share, of each kind as many."""
    chance = random.Random(seed)  # noqa: S311 - the same each time
    possible = possible_faults(root)
    shares = [group for group, part in GROUPS.items() for _ in range(part.share)]
    chosen: list[Fault] = []
    while len(chosen) < count and any(possible.values()):
        group = shares[len(chosen) % len(shares)]
        kinds = [kind for kind in KINDS if possible.get((group, kind))]
        if not kinds:
            shares = [name for name in shares if name != group]
            continue
        there = possible[group, chance.choice(kinds)]
        chosen.append(there.pop(chance.randrange(len(there))))
    return chosen


def copy_of_repository(folder: Path) -> Path:
    """Copy what git tracks and what it does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    copy = folder / "repository"
    for name in listed.stdout.decode().split("\0"):
        source, target = ROOT / name, copy / name
        if name and (source.is_symlink() or source.is_file()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return copy


class Outcome(NamedTuple):
    """How a fault ended.

    Attributes:
        fault: The fault.
        seen_in: The stage of `stages` that failed; empty where none did.
        seen_by: The first test that failed, or why there is none.
        seconds: What the tests took.
    """

    fault: Fault
    seen_in: str
    seen_by: str
    seconds: float


def test_files(copy: Path, pattern: str) -> list[str]:
    """Return the test files of a glob, without those that test no behaviour."""
    return sorted(
        f"tests/{path.name}"
        for path in (copy / "tests").glob(pattern)
        if not any(path.match(other) for other in NOT_BEHAVIOUR)
    )


def naming_tests(fault: Fault, copy: Path) -> list[str]:
    """Return the test files that name the module of a fault."""
    module = Path(fault.path).stem
    word = re.compile(rf"\b{re.escape(module)}\b")
    named = [
        name
        for name in test_files(copy, "test_*.py")
        if word.search((copy / name).read_text("utf-8"))
    ]
    return named if len(named) <= MOST_NEAR else []


def stages(fault: Fault, copy: Path, extent: str) -> Iterator[tuple[str, list[str]]]:
    """Return what to give pytest, from the tests nearest to a fault to all of them.

    Args:
        fault: The fault.
        copy: The root of the copy.
        extent: "near" for the nearest alone, "slow" for the slow ones as well.
    """
    fast = ("-m", "not slow")
    rule = Path(fault.path).stem
    if fault.group == "rules" and not rule.startswith("_"):
        yield "everyday", [*fast, FIXTURES, "-k", f"[{rule}-"]
    named = naming_tests(fault, copy)
    if named:
        yield "everyday", [*fast, *named]
    yield "everyday", [*fast, FIXTURES, *IN_PARALLEL]
    passed = {FIXTURES, *named}
    of_group = [
        name
        for pattern in GROUPS[fault.group].tests
        for name in test_files(copy, pattern)
        if name not in passed
    ]
    yield "everyday", [*fast, *of_group, *IN_PARALLEL]
    if extent == "near":
        return
    passed.update(of_group)
    others = [name for name in test_files(copy, "test_*.py") if name not in passed]
    yield "everyday", [*fast, *others, *IN_PARALLEL]
    if extent == "slow":
        slow = test_files(copy, "test_*.py")
        yield "slow", ["-m", "slow", *slow, *IN_PARALLEL]


def failures(copy: Path, words: Sequence[str]) -> list[str]:
    """Run tests in the copy; return those that fail, or why there is no end."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)  # pyproject.toml leads to the copy's own
    try:
        ended = subprocess.run(
            [*pytest, "--no-header", "--tb=no", "-r", "fE", *words],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return [f"no end after {MOST_SECONDS} s"]
    if ended.returncode in {0, 5}:  # 5: no test was selected
        return []
    failed = re.findall(
        r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ended.stdout, re.MULTILINE
    )
    last = (ended.stdout + ended.stderr).strip().splitlines()[-1:]
    return failed or [f"pytest ends with {ended.returncode}: {last}"]


def tried(
    fault: Fault, copy: Path, number: int, failing: Sequence[str], extent: str
) -> Outcome:
    """Put a fault into the copy, run the tests, and take it out again.

    Args:
        fault: The fault.
        copy: The root of the copy.
        number: Of the fault, from 1.
        failing: Tests that fail without any fault.
        extent: Which tests are run: "near", "everyday" or "slow".
    """
    deselected = [f"--deselect={name}" for name in failing]
    path = copy / fault.path
    source = path.read_bytes()
    start = time.monotonic()
    try:
        _write(path, fault.applied(source), number * 2 + 1)
        for stage, words in stages(fault, copy, extent):
            if failed := failures(copy, ["-x", *words, *deselected]):
                return Outcome(fault, stage, failed[0], time.monotonic() - start)
        return Outcome(fault, "", "", time.monotonic() - start)
    finally:
        _write(path, source, number * 2 + 2)


def failing_anyway(copy: Path, *, slow: bool) -> list[str]:
    """Return the tests that fail without any fault, which show nothing."""
    selected = () if slow else ("-m", "not slow")
    failing = failures(copy, [*selected, "tests", *IN_PARALLEL])
    for name in failing:
        print(f"fails without a fault: {name}", file=sys.stderr)
    return failing


def _write(path: Path, content: bytes, number: int) -> None:
    """Write a file with a time of its own: compiled files are known by it."""
    path.write_bytes(content)
    later = time.time() + 10 * number
    os.utime(path, (later, later))


def line_of(number: int, outcome: Outcome) -> str:
    """Return the row of a fault, as Markdown."""
    fault = outcome.fault
    ending = outcome.seen_in or "nobody"
    where = f"{fault.path}:{fault.line}"
    before, after = (
        " ".join(text.split()).replace("|", "\\|")[:80]
        for text in (fault.before, fault.after)
    )
    return (
        f"| {number} | {fault.kind} | {where} | `{before}` | `{after}` | {ending} "
        f"| {outcome.seen_by} | {outcome.seconds:.0f} |"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--only", help="numbers of faults, as 3,17")
    parser.add_argument("--list", action="store_true", help="run no test")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument(
        "--slow", action="store_true", help="try the slow tests as well"
    )
    extent.add_argument(
        "--near",
        action="store_true",
        help="try fixtures and tests that name the module",
    )
    parser.add_argument(
        "--trust", action="store_true", help="do not look for tests that fail anyway"
    )
    return parser.parse_args()


def main() -> int:
    """Try the faults, and print a row for each."""
    options = _options()
    say = partial(print, flush=True)
    extent = "slow" if options.slow else "near" if options.near else "everyday"
    faults = dict(enumerate(chosen_faults(options.seed, options.count), start=1))
    if options.only:
        faults = {int(text): faults[int(text)] for text in options.only.split(",")}
    if options.list:
        for number, fault in faults.items():
            say(f"{number:3} {fault}")
        return 0
    say("| | fault | where | before | after | seen by | first test | s |")
    say("| --- | --- | --- | --- | --- | --- | --- | --- |")
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_repository(Path(folder))
        failing = [] if options.trust else failing_anyway(copy, slow=options.slow)
        for number, fault in faults.items():
            outcome = tried(fault, copy, number, failing, extent)
            outcomes.append(outcome)
            say(line_of(number, outcome))
    seen = sum(outcome.seen_in == "everyday" for outcome in outcomes)
    late = sum(outcome.seen_in == "slow" for outcome in outcomes)
    say(
        f"\n{len(outcomes)} faults: {seen} seen by everyday tests, {late} by slow ones "
        f"alone, {len(outcomes) - seen - late} by none"
    )
    return 0 if seen == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
