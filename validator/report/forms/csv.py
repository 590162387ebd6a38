"""`--output csv`: a finding a row, for spreadsheets; RFC 4180.

A cell that a spreadsheet would take for a formula begins with an apostrophe: values of
files stand in cells, and files are hostile.
"""

import csv
import io
from collections.abc import Iterator

from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.style import Style, printable
from speccheck.validator.report.wording import with_numbers
from speccheck.validator.run.judging import JudgedPlan

_LISTED = {"fail", "error", "unknown"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    *("level", "outcome", "waived", "clause", "clause_level", "rule", "title"),
    *("subject", "file", "line", "column", "key", "message", "measured", "required"),
    *("cost", "remedy", "action", "note", "missing", "confidence", "other_places"),
    *("plan_files", "waiver_kind", "waiver_reason", "waiver_until", "waiver_owner"),
    *("waiver_ticket", "edition", "tailored_numbers", "loosened"),
)
_Cell = str | int | float | None


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the head and the rows, each as it is written."""
    yield _line(_COLUMNS)
    for plan in context.run.plans:
        for located in plan.findings:
            finding = located.finding
            if context.full or finding.outcome in _LISTED or finding.is_loosened:
                edition = finding.edition or context.run.edition.id
                yield _line(
                    (*_row(located, plan, edition), *_tailored(context, finding))
                )


def _tailored(context: ReportContext, finding: Finding) -> tuple[_Cell, ...]:
    """Return how many numbers are not the edition's, and whether it holds by them."""
    return len(context.run.edition.tailoring), "yes" if finding.is_loosened else "no"


def _row(located: LocatedFinding, plan: JudgedPlan, edition: str) -> tuple[_Cell, ...]:
    finding = located.finding
    waiver = finding.waiver
    return (
        finding.level,
        finding.outcome,
        "yes" if waiver else "no",
        finding.clause,
        finding.clause_level,
        finding.rule,
        finding.title,
        finding.subject,
        *_place(located, plan),
        finding.message,
        finding.measured,
        finding.required,
        *_advice(finding),
        ", ".join(finding.missing),
        finding.confidence,
        ", ".join(f"{at.file}:{at.line or at.key}" for at in located.locations[1:]),
        ", ".join(file.path for file in plan.files),
        *((waiver.kind, waiver.reason) if waiver else ("", "")),
        *((waiver.until, waiver.owner) if waiver else ("", "")),
        waiver.ticket if waiver else "",
        edition,
    )


def _place(located: LocatedFinding, plan: JudgedPlan) -> tuple[_Cell, ...]:
    """Return file, line, column and key; the plan's file where there is no place."""
    if not located.locations:
        return (plan.files[0].path if plan.files else "", None, None, "")
    first = located.locations[0]
    return first.file, first.line or None, first.column or None, first.key


def _advice(finding: Finding) -> tuple[_Cell, ...]:
    remedy = with_numbers(finding.remedy, (finding.subject,))
    return finding.cost, remedy, finding.action or "", finding.note


def _line(cells: tuple[_Cell, ...]) -> str:
    out = io.StringIO()
    # The dialect of the RFC: commas, quotes where they are needed, CR LF.
    csv.writer(out, lineterminator="\r\n").writerow(_cell(cell) for cell in cells)
    return out.getvalue()


def _cell(value: _Cell) -> _Cell:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if value.startswith(_FORMULA) else text
