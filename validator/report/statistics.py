"""How often each rule failed, was waived, or could not judge."""

from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import Style, counted
from speccheck.validator.run.plan_judge import JudgedPlan

_LEVELS = ("error", "warning", "info")
# What else may come of a rule; failures count by their level.
_OTHERS = ("waived", "unknown", "broken", "pass", "not_applicable")
COUNTED = (*_LEVELS, *_OTHERS)


class RuleCounts(Record):
    """The findings of one rule over all plans, by level and outcome.

    rule is empty for a clause that was decided without one; counts: by the names of
    COUNTED, zeros too.
    """

    rule: str
    clause: str
    clause_level: str
    counts: dict[str, int]

    @property
    def failed(self) -> int:
        """How many failures count, of whatever level."""
        return sum(self.counts[level] for level in _LEVELS)


def rule_counts(plans: Iterable[JudgedPlan]) -> list[RuleCounts]:
    """The counts of all rules, those that fail most first."""
    found: dict[tuple[str, str], RuleCounts] = {}
    for plan in plans:
        for located in plan.findings:
            one = located.finding
            name: str = one.outcome
            if one.waiver is not None:
                name = "waived"
            elif one.outcome == "fail":
                name = one.level
            elif one.outcome == "error":
                name = "broken"
            row = found.get((one.clause, one.rule))
            if row is None:
                zeros: dict[str, int] = dict.fromkeys(COUNTED, 0)
                row = RuleCounts(one.rule, one.clause, one.clause_level, zeros)
                found[one.clause, one.rule] = row
            row.counts[name] += 1
    return sorted(found.values(), key=_rank)


def _rank(one: RuleCounts) -> tuple[object, ...]:
    """Most failures first, errors before others; then waived, broken, unknown."""
    counts = one.counts
    by_level = (-counts[level] for level in _LEVELS)
    others = (-counts["waived"], -counts["broken"], -counts["unknown"])
    return (-one.failed, *by_level, *others, one.clause, one.rule)


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
