"""`speccheck baseline FILE|FOLDER ...`: adopt a project with its old findings.

What fails today is written down once. From then on the file only shrinks: what is not
found any more leaves it, and what is new is refused.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from speccheck.validator.cli.command_line import CommandLine, with_settings
from speccheck.validator.cli.guarded import BUG
from speccheck.validator.cli.request import files_request
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Request
from speccheck.validator.report.style import counted, printable
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.verdict import Exit, exit_of
from speccheck.validator.report.write import write
from speccheck.validator.run.judging import RunState
from speccheck.validator.run.run import RunResult, run
from speccheck.validator.run.waivers.baseline import (
    Baseline,
    BaselineEntry,
    baseline_text,
    load_baseline,
)
from speccheck.validator.run.waivers.judged import RunCoverage, fixed_entries

FILE = "speccheck-baseline.json"
_MOST_SHOWN = 50  # new findings
_USAGE, _NOTHING = 2, 3


def baseline(line: CommandLine) -> int:
    """Write or shrink a baseline; returns the exit code."""
    request = files_request(with_settings(line, writes_baseline=True))
    path = line.text("out") or request.judging.policy.baseline or FILE
    is_there = os.path.lexists(path)
    policy = request.judging.policy._replace(baseline=path if is_there else None)
    request = request._replace(judging=request.judging._replace(policy=policy))
    known = load_baseline(path) if is_there else Baseline(path, {})
    state = RunState(request, proposes=False, baseline=known)
    result = run(request, state)
    ending = exit_of(result, summarize(result.plans), "never")
    if ending.code in {_USAGE, BUG} or not result.plans:
        return _end_without(result, ending, request)
    if not is_there:
        write(baseline_text(known.open), path)
        write(_first_lines(known), None)
        return 0
    left = _left(known, result, state)
    if left != known.known:
        write(baseline_text(left), path)
    write(_later_lines(known, left), None)
    return 1 if known.new else 0


def _end_without(result: RunResult, ending: Exit, request: Request) -> int:
    """Say why nothing is written."""
    for file in result.files:
        is_bad = file.state == "unreadable" or (file.named and file.state != "judged")
        if is_bad and not (request.skip_unknown and file.state == "unrecognised"):
            sys.stderr.write(f"speccheck: {printable(file.message)}\n")
    code = ending.code or _NOTHING
    sys.stderr.write(f"speccheck: no baseline written: {ending.reason}\n")
    return code


def _left(
    baseline: Baseline, result: RunResult, state: RunState
) -> Counter[BaselineEntry]:
    """Return what is neither mended nor of a file that is gone."""
    left = baseline.known.copy()
    for waived in state.waived_plans():
        seen = RunCoverage(waived, result.plans, (file.path for file in result.files))
        for known, count, _ in fixed_entries(waived.waivers, seen):
            left[known] = min(left[known], baseline.known[known] - count)
    for known in baseline.known:
        if not all(map(baseline.has_file, known.places)):
            left[known] = 0
    return +left


def _first_lines(baseline: Baseline) -> Iterator[str]:
    met = sum(baseline.open.values())
    files = {place.file for known in baseline.open for place in known.places[:1]}
    where = counted(len(files), "file")
    yield f"{baseline.path}: {counted(met, 'finding')} in {where}\n"
    yield from _by_rule(baseline.open)
    yield from _mandatory(baseline)
    yield f"judge with --baseline {baseline.path}, or name it in the settings\n"


def _later_lines(baseline: Baseline, left: Counter[BaselineEntry]) -> Iterator[str]:
    known, rest = sum(baseline.known.values()), sum(left.values())
    yield f"{baseline.path}: {counted(rest, 'finding')}"
    gone = f"{known - rest:,} not found any more, and dropped"
    yield f"; {gone}\n" if known > rest else "; all are still found\n"
    yield from _by_rule(baseline.known - left)
    yield from _mandatory(baseline)
    if baseline.new:
        new = [
            located_finding
            for located_findings in baseline.new.values()
            for located_finding in located_findings
        ]
        yield f"{counted(len(new), 'new finding')}, not taken:\n"
        yield from map(_line, new[:_MOST_SHOWN])
        if len(new) > _MOST_SHOWN:
            yield f"  and {len(new) - _MOST_SHOWN:,} more\n"
        yield (
            "a baseline only shrinks: mend them, waive them with a reason, or delete "
            f"{baseline.path} to begin anew\n"
        )


def _by_rule(known: Mapping[BaselineEntry, int]) -> Iterable[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for item, number in known.items():
        counts[item.clause, item.rule] += number
    for (clause, rule), number in sorted(counts.items()):
        yield f"  {number:>6,}  {clause} {printable(rule)}\n"


def _mandatory(baseline: Baseline) -> Iterator[str]:
    clauses = sorted({known.clause for known in baseline.locked})
    if clauses:
        number = counted(len(baseline.locked), "finding")
        yield f"not taken: {number} of mandatory clauses ({', '.join(clauses)})\n"


def _line(located_finding: LocatedFinding) -> str:
    finding = located_finding.finding
    place = next((f"{at.file}:{at.line or 1} " for at in located_finding.locations), "")
    text = f"{place}{finding.level} {finding.clause} {finding.rule} {finding.message}"
    return f"  {printable(text)}\n"
