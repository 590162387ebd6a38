"""`--diff` and `--fix`: what fixes change is shown, or written and judged again."""

import os
import sys
from collections import Counter
from collections.abc import Iterable

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.reports import Output
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.findings_text import diff_of
from speccheck.validator.report.form import FORMS
from speccheck.validator.report.style import counted, printable
from speccheck.validator.report.verdict import is_bad_input
from speccheck.validator.report.write import disarmed, is_read_by_runner, write
from speccheck.validator.run.fixing import (
    FixedRun,
    Made,
    NotWritten,
    RejectedFix,
    mended,
    refusal_of,
    write_all,
)
from speccheck.validator.run.run import RunResult

_STDIN = "stdin"
_NO_CODE_OF_ITS_OWN = frozenset({0, 1, 3})


class Fixed(Record):
    """What a run is after its fixes; changes: the diff of them, where it was asked for.

    outputs: the reports that are left to write.
    """

    run: RunResult
    outputs: list[Output]
    changes: tuple[str, ...] | None = None

    def code(self, of_report: int) -> int:
        """Return the exit code: of a diff, whether there is something to change."""
        if self.changes is None or of_report not in _NO_CODE_OF_ITS_OWN:
            return of_report
        return int(bool(self.changes))


def fixed(request: Request, line: CommandLine, outputs: list[Output]) -> Fixed:
    """Make a run's requested fixes, and report them on standard error.

    Raises UsageError, and what `run` raises.
    """
    shows, writes = line.has("diff"), line.has("fix")
    if shows and writes:
        message = "--diff only shows what --fix writes: give one of them"
        raise UsageError(message)
    if not shows and not writes:
        message = "--unsafe-fixes belongs to --diff or --fix: give one of them as well"
        raise UsageError(message)
    stdin = (request.stdin_name or _STDIN) if "-" in request.arguments else None
    if writes and stdin is not None:
        message = "--fix cannot write standard input: speccheck - --diff shows it"
        raise UsageError(message)
    if shows and any(
        output.path is None and not FORMS[output.format].is_for_people
        for output in outputs
    ):
        message = "--diff takes standard output: give the report a file, json=FILE"
        raise UsageError(message)

    def refusal(run: RunResult, name: str) -> str | None:
        return refusal_of(run, name, stdin, writes=writes)

    result = mended(request, refusal, unsafe=line.has("unsafe_fixes"))
    if writes:
        try:
            write_all(result.texts)
        except NotWritten as error:
            raise UsageError(str(error)) from error
    _tell(result, "fixed" if writes else "would fix")
    if writes:
        return Fixed(result.left, outputs)
    changes = tuple(diff_of(result.texts))
    is_read = is_read_by_runner(os.environ)
    write(map(disarmed, changes) if is_read else changes, None)
    return Fixed(result.before, [output for output in outputs if output.path], changes)


def _tell(result: FixedRun, verb: str) -> None:
    lines = [_summary(result, verb)] if result.made else []
    lines += [_not_made(not_made) for not_made in result.not_made]
    lines += [
        file.message
        for file in result.before.files
        if is_bad_input(file.state, named=file.named)
    ]
    if result.is_cut_off:
        lines.append("more may be left after so many passes: run it again")
    if result.unsafe:
        lines.append(f"{result.unsafe} more with --unsafe-fixes")
    if not lines:
        lines = ["nothing to fix"]
    shown = (disarmed(printable(hidden(line))) for line in lines)
    sys.stderr.writelines(f"speccheck: {line}\n" for line in shown)


def _summary(result: FixedRun, verb: str) -> str:
    rules = _rules(result.made)
    text = ", ".join(f"{rule}: {number}" for rule, number in rules.items())
    findings = counted(rules.total(), "finding")
    return f"{verb} {findings} in {counted(len(result.texts), 'file')} ({text})"


def _rules(made: Iterable[Made]) -> Counter[str]:
    return Counter(owned.finding.rule for item in made for owned in item.mended)


def _not_made(not_made: RejectedFix) -> str:
    finding = not_made.owned.finding
    place = next(((at.file, at.key) for at in finding.places), ("", ""))
    at = f" at {place[0]} {place[1]}" if place[0] else ""
    says = "" if not_made.is_judged else not_made.fix.says
    by_hand = f"; by hand: {says}" if says else ""
    return f"not fixed: {finding.clause} {finding.rule}{at}: {not_made.reason}{by_hand}"
