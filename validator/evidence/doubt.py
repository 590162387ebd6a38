"""Leaves that are stated and cannot be read, and whether somebody looked at one.

A rule may take a leaf without a value for one that nobody states: then the default of
the framework holds. What a template still fills in, or two files contradict each other
about, has no value either, and is stated. Who judges by such a leaf has not seen it.
"""

from collections.abc import Mapping
from typing import Any

from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.evidence.value import Value


class Doubts:
    """The leaves of one plan that were looked at in vain since `forget`."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        """Start with none."""
        self.seen: dict[str, Value[Any]] = {}

    def forget(self) -> None:
        """Start anew: for another rule."""
        self.seen.clear()


class DoubtfulValue(Value[Any]):
    """A leaf that is stated and has no value; tells when it is asked for it."""

    doubts: Doubts

    @property
    def value(self) -> None:
        """None, as of every leaf without a value."""
        self.doubts.seen[self.name] = self


def with_doubts(
    leaves: Mapping[str, Value[Any]],
) -> tuple[dict[str, Value[Any]], Doubts | None]:
    """The leaves, and what tells who looks at one in doubt; None where none is."""
    doubtful = [leaf for leaf in leaves.values() if leaf.value is None and leaf.places]
    if not doubtful:
        return dict(leaves), None
    doubts = Doubts()
    watched = dict(leaves)
    for leaf in doubtful:
        watched[leaf.name] = one = DoubtfulValue._make(leaf)
        one.doubts = doubts
    return watched, doubts


def plan_evidence(
    leaves: Mapping[str, Value[Any]],
) -> tuple[TrainingPlan, dict[type, object]]:
    """The plan of these leaves; it with its sections, and what tells of doubt."""
    watched, doubts = with_doubts(leaves)
    plan = TrainingPlan(watched)
    sections: dict[type, object] = {type(part): part for part in plan.sections()}
    return plan, {**sections, TrainingPlan: plan, Doubts: doubts}
