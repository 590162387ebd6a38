"""One line a finding, for editors and grep."""

from collections.abc import Iterator

from speccheck.validator.report.style import Style, printable
from speccheck.validator.report.summary import Exit
from speccheck.validator.report.told import Told
from speccheck.validator.run import Run

_ORDER = {"error": 0, "warning": 1, "info": 2}


def report(told: Told, style: Style) -> Iterator[str]:
    """`file:line:column: level clause rule: message`, then the verdict."""
    yield "\n".join(_lines(told.run, told.ending, style)) + "\n"


def _lines(run: Run, ending: Exit, style: Style) -> Iterator[str]:
    yield from (printable(file.message) for file in run.files if file.message)
    for plan in run.plans:
        failed = [
            located
            for located in plan.findings
            if located.finding.outcome in {"fail", "error"}
        ]
        failed.sort(key=lambda located: _ORDER[located.finding.level])
        for located in failed:
            finding = located.finding
            place = f"{plan.files[0].path}: "
            snapshots = [one.path for one in plan.files if one.format == "snapshot"]
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
            yield f"{place}{level} {name}: {printable(finding.message)}"
    yield f"{ending.verdict}: {ending.reason} (exit {ending.code})"
