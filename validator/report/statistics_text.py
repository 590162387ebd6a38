"""`--statistics`: how often each rule failed, the most frequent first."""

from collections.abc import Iterable, Iterator

from speccheck.validator.report.statistics import RuleCounts, rule_counts
from speccheck.validator.report.style import Style, counted
from speccheck.validator.run.judging import JudgedPlan

_COLUMNS = {
    "error": "errors",
    "warning": "warnings",
    "info": "infos",
    "waived": "waived",
    "broken": "broken",
    "unknown": "unknown",
}
_COLOURS = ("error", "warning", "info")
_SEPARATES = "unknown"  # alone it is no reason for a row: most rules wait for evidence


def statistics_lines(plans: Iterable[JudgedPlan], style: Style) -> Iterator[str]:
    """A row for each rule that failed, with the columns that are needed."""
    rows = rule_counts(plans)
    shown = [
        row
        for row in rows
        if any(row.counts[name] for name in _COLUMNS if name != _SEPARATES)
    ]
    if not shown:
        yield style.paint("statistics", "bold") + ": no rule fails"
        return
    yield style.paint("statistics", "bold") + f": {counted(len(shown), 'rule')}"
    names = [name for name in _COLUMNS if any(row.counts[name] for row in shown)]
    widths = {
        name: max(len(_COLUMNS[name]), *(len(f"{row.counts[name]:,}") for row in shown))
        for name in names
    }
    yield "  " + "  ".join(f"{_COLUMNS[name]:>{widths[name]}}" for name in names)
    for row in shown:
        cells = (_cell(row, name, widths[name], style) for name in names)
        yield f"  {'  '.join(cells)}  {row.clause} {row.rule}".rstrip()


def _cell(row: RuleCounts, name: str, width: int, style: Style) -> str:
    text = f"{row.counts[name]:>{width},}"
    is_painted = row.counts[name] and name in _COLOURS
    return style.paint(text, name) if is_painted else text
