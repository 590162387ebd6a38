"""What cannot be said of a plan because a file that it inherits from is not there."""

from collections.abc import Iterable
from typing import Any

from speccheck.validator.evidence.training_plan import leaf_names
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.facts import Fact
from speccheck.validator.sources.reader import Gap, Reading

# What no setting changes: the framework is the same whatever a parent says.
_CERTAIN = frozenset({"run.framework", "run.uses_torch"})


def without_defaults(reading: Reading, gaps: tuple[Gap, ...]) -> Reading:
    """The reading with the framework's defaults unknown: the missing file may differ.

    Changes the fact sheet, which is the reading's own.
    """
    gap = gaps[0]
    reading.facts.facts[:] = [
        Fact(fact.name, None, "unknown", (gap.place,), gap.reason)
        if fact.status == "default" and fact.name not in _CERTAIN
        else fact
        for fact in reading.facts.facts
    ]
    return reading


def with_reasons(
    leaves: dict[str, Value[Any]], gaps: Iterable[Gap]
) -> dict[str, Value[Any]]:
    """The leaves, and for each that nothing speaks of the gap that it may lie in."""
    gap = next(iter(gaps), None)
    if gap is None:
        return leaves
    reasons = {
        name: Value[Any](name, places=(gap.place,), note=gap.reason)
        for name in leaf_names()
    }
    return {**reasons, **leaves}
