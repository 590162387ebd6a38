"""One line a finding, for editors and grep."""

from collections.abc import Iterator

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.merge_findings import waiver_words
from speccheck.validator.report.style import Style, printable
from speccheck.validator.report.summary import (
    ISOLATED,
    passed_over_line,
    switched_off_lines,
)

_ORDER = {"error": 0, "warning": 1, "info": 2}


def _rank(finding: Finding) -> tuple[bool, int]:
    return finding.waiver is not None, _ORDER[finding.level]


def report(context: ReportContext, style: Style) -> Iterator[str]:
    """Yield `file:line:column: level clause rule: message`, then the verdict."""
    yield "\n".join(_lines(context, style)) + "\n"


def _lines(context: ReportContext, style: Style) -> Iterator[str]:
    run, ending = context.run, context.ending
    shown_files = (file for file in run.files if file.message and file.is_shown)
    yield from (printable(file.message) for file in shown_files)
    for plan in run.plans:
        failed = [
            located
            for located in plan.findings
            if located.finding.outcome in {"fail", "error"}
        ]
        failed.sort(key=lambda located_finding: _rank(located_finding.finding))
        for located in failed:
            finding = located.finding
            place = f"{plan.files[0].path}: "
            snapshots = [file.path for file in plan.files if file.format == "snapshot"]
            for location in located.locations:
                if location.file in snapshots:
                    # Nobody wrote a snapshot: which part it is tells more than a line.
                    of = f"{finding.subject}: " if finding.subject else ""
                    place = f"{location.file}: {of}"
                    break
                if location.line:
                    place = f"{location.file}:{location.line}:{location.column}: "
                    break
            level = style.paint(finding.level, finding.level)
            name = f"{finding.clause} {finding.rule}".rstrip()
            line = f"{level} {name}: {printable(finding.message)}"
            if finding.waiver is not None:
                line = f"waived {line}  {waiver_words(finding.waiver)}"
            yield f"{place}{line}"
    yield from switched_off_lines(context.summary)
    passed_over = passed_over_line(run)
    if passed_over:
        yield printable(passed_over)
    isolated = f"; {ISOLATED}" if run.is_isolated else ""
    line = ending.line(style.dot)
    why = f" because of {ending.because}" if ending.because else ""
    yield f"{line} (exit {ending.code}{why}){isolated}"
