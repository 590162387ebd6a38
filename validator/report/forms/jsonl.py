"""`--output jsonl`: a finding a line, written as it is told, then one line of totals.

Made for thousands of machines: nobody has to hold the whole report to read it.
"""

from collections.abc import Iterator
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.json_report import (
    EditionName,
    Profile,
    RuleStatistics,
    SecondEditionName,
    SettingsFiles,
    Totals,
    encode,
    finding_data,
    is_listed,
    refusal_data,
    rule_statistics,
    verdict_data,
)
from speccheck.validator.report.serialise import Tool, alike
from speccheck.validator.report.style import Style
from speccheck.validator.run.run import RunResult

SCHEMA = "speccheck-report-lines/1"


class UnreadFile(Record):
    """A file that was not judged, and why."""

    path: str
    status: Literal["unrecognised", "template", "unreadable", "excluded"]
    message: str | None


class TotalsLine(Record):
    """The last line of `speccheck-report-lines/1`: what the run comes to."""

    type: Literal["summary"]
    schema_name: Literal["speccheck-report-lines/1"]
    tool: Tool
    edition: EditionName | None
    second_edition: SecondEditionName | None
    profile: Profile | None
    settings: SettingsFiles
    warnings: tuple[str, ...]
    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int
    summary: Totals
    errors: tuple[str, ...]
    plans: int
    files: int
    unread: tuple[UnreadFile, ...]
    statistics: tuple[RuleStatistics, ...]


def report(report_context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the finding of `speccheck-report/1` with its plan's files, line by line."""
    run, full = report_context.run, report_context.full
    yield from _findings(run, full=full)
    unread = (file for file in run.files if file.state != "judged")
    totals = alike(
        TotalsLine,
        None,
        type="summary",
        schema_name=SCHEMA,
        **verdict_data(report_context),
        plans=len(run.plans),
        files=len(run.files),
        unread=[
            alike(
                UnreadFile,
                file,
                status=file.state,
                message=file.message or None,
            )
            for file in unread
        ],
        statistics=list(rule_statistics(run.plans)),
    )
    yield encode(totals) + "\n"


def _findings(run: RunResult, *, full: bool) -> Iterator[str]:
    """Yield findings; of one that many plans share all but the plan is kept as text."""
    known: dict[int, str] = {}
    for index, plan in enumerate(run.plans):
        files = encode([file.path for file in plan.files])
        for located in plan.findings:
            if not full and not is_listed(located.finding):
                continue
            text = known.get(id(located))
            if text is None:
                data = {"type": "finding", **finding_data(located, run.edition.id)}
                known[id(located)] = text = encode(data)
            yield f'{text[:-1]}, "plan": {index}, "files": {files}}}\n'


def failure_report(message: str, code: int) -> str:
    """Return the line of totals of a run that could not begin."""
    totals = alike(
        TotalsLine,
        None,
        type="summary",
        schema_name=SCHEMA,
        **refusal_data(message, code),
        plans=0,
        files=0,
        unread=(),
        statistics=(),
    )
    return encode(totals) + "\n"
