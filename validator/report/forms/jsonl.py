"""`--output jsonl`: a finding a line, written as it is told, then one line of totals.

Made for thousands of machines: nobody has to hold the whole report to read it.
"""

from collections.abc import Iterator

from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.json_report import (
    encode,
    finding_data,
    is_told,
    refusal_data,
    statistics_data,
    verdict_data,
)
from speccheck.validator.report.style import Style
from speccheck.validator.run.run import Run

SCHEMA = "speccheck-report-lines/1"


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """The finding of `speccheck-report/1` with the files of its plan, line by line."""
    run, full = context.run, context.full
    yield from _findings(run, full=full)
    totals = {
        "type": "summary",
        "schema": SCHEMA,
        **verdict_data(context),
        "plans": len(run.plans),
        "files": len(run.files),
        "unread": [
            {"path": file.path, "status": file.state, "message": file.message or None}
            for file in run.files
            if file.state != "judged"
        ],
        "statistics": list(statistics_data(run.plans)),
    }
    yield encode(totals) + "\n"


def _findings(run: Run, *, full: bool) -> Iterator[str]:
    """Of a finding that many plans share all but the plan is kept as text."""
    known: dict[int, str] = {}
    for index, plan in enumerate(run.plans):
        files = encode([file.path for file in plan.files])
        for located in plan.findings:
            if not full and not is_told(located.finding):
                continue
            text = known.get(id(located))
            if text is None:
                data = {"type": "finding", **finding_data(located, run.edition.id)}
                known[id(located)] = text = encode(data)
            yield f'{text[:-1]}, "plan": {index}, "files": {files}}}\n'


def failure_report(message: str, code: int) -> str:
    """The line of totals of a run that could not begin."""
    totals = {
        "type": "summary",
        "schema": SCHEMA,
        **refusal_data(message, code),
        "plans": 0,
        "files": 0,
        "unread": [],
        "statistics": [],
    }
    return encode(totals) + "\n"
