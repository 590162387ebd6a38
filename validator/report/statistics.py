"""How often each rule failed, was waived, or could not judge."""

from collections.abc import Iterable

from speccheck.validator.evidence.record import Record
from speccheck.validator.run.judging import JudgedPlan

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
