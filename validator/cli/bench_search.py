"""`speccheck bench plan` and `bench judge`: find a slow node.

Who measures with whom, round by round, and which node the results speak against.
"""

import sys
from collections.abc import Iterable, Sequence

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.reports import Forms, outputs_of, write_forms
from speccheck.validator.editions.edition import Edition, load_edition
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.node.host_names import HostNamesError, fold, unfold
from speccheck.validator.report.bench_judgement_json import judgement_json
from speccheck.validator.report.bench_judgement_text import judgement_text
from speccheck.validator.report.style import counted, wrap
from speccheck.validator.report.write import write
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.files import find_files, read_file
from speccheck.validator.sources.registry import Readers
from speccheck.validator.straggler_search.follow_up import (
    SearchOutcome,
    next_plan,
    outcome_of,
)
from speccheck.validator.straggler_search.judgement import Limits, judge
from speccheck.validator.straggler_search.rounds import (
    PAIR,
    PlanFileError,
    SearchPlan,
    all_pair_rounds,
    groups,
    pairs,
    plan_lines,
    plan_of,
    plan_text,
)

CLAUSE = "COMM-090"
KINDS = ("pairs", "groups")
_PLAN_FORMATS = ("json", "lines")
REFUSED = (HostNamesError,)
_WIDTH = 80
# Start-up of a collective and its largest messages; engineering default.
_ROUND_SECONDS = 60.0


def bench_plan(line: CommandLine) -> int:
    """Write rounds of who measures with whom; returns the exit code."""
    form = line.word("format", _PLAN_FORMATS)
    results = [*line.texts("after"), *line.files]
    plan = _after(line, results) if results else _first(line)
    pieces = plan_lines(plan) if form == "lines" else plan_text(plan, about(plan))
    write(pieces, line.text("out"))
    sys.stderr.write(_summary(plan, line))
    return 0


def _first(line: CommandLine) -> SearchPlan:
    hosts = _hosts(line)
    if len(hosts) < PAIR:
        message = f"--nodes: {counted(len(hosts), 'node')}; it takes two to compare"
        raise UsageError(message)
    size, rounds = line.integer("group_size"), line.integer("rounds")
    if line.word("kind", KINDS) == "pairs":
        if size not in {None, PAIR}:
            message = f"--group-size {size} goes with --kind groups"
            raise UsageError(message)
        most = all_pair_rounds(len(hosts))
        if rounds is not None and rounds > most:
            message = f"--rounds {rounds}: all pairs of {len(hosts):,} nodes have met "
            raise UsageError(message + f"after {most:,} rounds")
        return pairs(hosts, rounds)
    if size is not None and size > len(hosts):
        message = f"--group-size {size}: there are only {len(hosts):,} nodes"
        raise UsageError(message)
    return groups(hosts, size, rounds)


def _after(line: CommandLine, results: list[str]) -> SearchPlan:
    for name in ("nodes", "group_size", "rounds"):
        if name in line.values:
            flag = "--" + name.replace("_", "-")
            message = f"{flag} goes without --after: the results say who is left"
            raise UsageError(message)
    result = results_of(results)
    for problem in result.problems:
        sys.stderr.write(f"speccheck: not read: {problem}\n")
    plan = next_plan(judge(result.runs, limits_of(load_edition())))
    return plan if plan is not None else SearchPlan("pairs", ())


def _hosts(line: CommandLine) -> tuple[str, ...]:
    text = line.text("nodes")
    if text is None:
        message = "--nodes is missing: --nodes 'node[001-064]', or --after RESULT ..."
        raise UsageError(message)
    names = _listed(text[1:]) if text.startswith("@") else unfold(text)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            message = f"--nodes: {name} is named twice"
            raise UsageError(message)
        seen.add(name)
    return names


def _listed(path: str) -> tuple[str, ...]:
    """Return the first word of each line, as hostfiles of MPI have them."""
    try:
        lines = read_text(path).splitlines()
    except ReadError as error:
        raise UsageError(str(error)) from error
    words = [line.partition("#")[0].split() for line in lines]
    return tuple(name for word in words if word for name in unfold(word[0]))


def about(plan: SearchPlan) -> dict[str, object]:
    """Return what else the document says of a plan."""
    hosts = plan.hosts
    waiting = [
        fold(host for host in hosts if host not in taken)
        for sets in plan.rounds
        for taken in ({host for set_ in sets for host in set_},)
    ]
    return {
        "nodes": fold(hosts),
        "set_size": plan.largest_set,
        **({"waiting": waiting} if any(waiting) else {}),
    }


def _summary(plan: SearchPlan, line: CommandLine) -> str:
    if not plan.rounds:
        return "nobody is suspected: nothing is left to measure\n"
    each = line.number("round_seconds") or _ROUND_SECONDS
    sets = max(map(len, plan.rounds))
    hosts = plan.hosts
    total = len(plan.rounds) * each
    text = (
        f"{counted(len(hosts), 'node')} in {counted(len(plan.rounds), 'round')} of up "
        f"to {counted(sets, 'set')} of {plan.largest_set}: about {_duration(total)} if "
        f"a round takes {each:g} s"
    )
    if all_pair_rounds(len(hosts)) == len(plan.rounds) and plan.kind == "pairs":
        text += "; every pair meets once"
    return wrap(text, _WIDTH, "") + "\n"


def _duration(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004 - two minutes are told in minutes
        return f"{seconds:g} s"
    if seconds < 7200:  # noqa: PLR2004 - two hours in hours
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def bench_judge(line: CommandLine) -> int:
    """Say which nodes results speak against; returns the exit code."""
    if not line.files:
        message = "no result given: speccheck bench judge RESULT ..."
        raise UsageError(message)
    outputs = outputs_of(line)
    plans = plans_of(line.texts("plan"))
    limits = limits_of(load_edition())
    results = results_of(line.files)
    outcome = outcome_of(judge(results.runs, limits), plans, results.problems)
    written = _write_next(outcome, line)
    full = line.has("full")
    forms: Forms = {
        "text": lambda style: judgement_text(
            outcome, limits, style, full=full, written=written
        ),
        "json": lambda _: judgement_json(outcome, limits),
    }
    write_forms(line, outputs, forms)
    return outcome.exit_code


def _write_next(outcome: SearchOutcome, line: CommandLine) -> str:
    """Write the next plan where one is wanted and there is one; returns its file."""
    path, plan = line.text("next"), outcome.following
    if path is None or plan is None:
        return ""
    write(plan_text(plan, about(plan)), path)
    return path


class SearchResults(Record):
    """All runs of collectives of some files, and what could not be read."""

    runs: tuple[CollectiveRun, ...]
    files: int
    problems: tuple[str, ...]


def limits_of(edition: Edition) -> Limits:
    """Return the numbers of the clause, where no profile gives others."""
    numbers = edition.clauses[CLAUSE].numbers
    values = []
    for name in Limits._fields:
        value = numbers[name].value
        if not isinstance(value, int | float):  # the edition's own test demands it
            raise TypeError(name)
        values.append(value)
    return Limits._make(values)


def results_of(paths: Iterable[str]) -> SearchResults:
    """Return the runs of files and folders; raises UsageError where none holds any."""
    readers = Readers()
    runs: list[CollectiveRun] = []
    problems: list[str] = []
    files = 0
    for path, named in find_files(paths):
        status, read = read_file(path, named=named, readers=readers)
        collective_runs = [
            run
            for file in read
            for reading in file.readings
            if reading.node is not None
            for run in reading.node.several(CollectiveRuns).shown
        ]
        files += bool(collective_runs)
        runs.extend(collective_runs)
        # What else lies in a folder is nobody's mistake.
        if status.state == "unreadable" or (named and not collective_runs):
            text = status.message if status.state != "judged" else ""
            problems.append(text or f"{path}: {status.format}, no runs of a collective")
    if not runs:
        text = problems[0] if problems else "no file of results was found"
        message = f"{text}; nothing to judge"
        raise UsageError(message)
    return SearchResults(tuple(runs), files, tuple(problems))


def plans_of(paths: Sequence[str]) -> tuple[SearchPlan, ...]:
    """Return the plans of some files; raises UsageError."""
    try:
        return tuple(plan_of(read_text(path), path) for path in paths)
    except (PlanFileError, ReadError) as error:
        raise UsageError(str(error)) from error
