"""What differs between two snapshots."""

from typing import Literal

from speccheck.validator.comparison.machine import Machine
from speccheck.validator.comparison.side import Side
from speccheck.validator.evidence.node.changes import GROUPS, Group
from speccheck.validator.evidence.record import Record

# changed: two values. came, went: a part of a list. grew, fell: a counter of one
# machine. not_known: one of the two has no value, and says why.
Change = Literal["changed", "came", "went", "grew", "fell", "not_known"]


class Difference(Record):
    """One leaf, or one part that only one of the two has.

    part: of several of a kind. a, b: the values as in the snapshots; of one that has
    none, why. by: of numbers, how much more the second is. per_hour: of counters.
    note: what follows, or a reason.
    """

    group: Group
    leaf: str
    part: str
    change: Change
    a: object
    b: object
    by: float | None = None
    per_hour: float | None = None
    note: str = ""


class NotCompared(Record):
    """Leaves that both have and of which nothing follows."""

    leaf: str
    reason: str
    parts: int


class Comparison(Record):
    """Two snapshots, side by side.

    hours: from the first to the second, where both say when they were taken.
    was_restarted: whether the machine was, in between; None where that is not known.
    compared: how many leaves have a value in both.
    """

    a: Side
    b: Side
    machine: Machine
    hours: float | None
    was_restarted: bool | None
    differences: tuple[Difference, ...]
    not_compared: tuple[NotCompared, ...]
    compared: int

    @property
    def notable(self) -> tuple[Difference, ...]:
        """All but what is never the same twice, by what matters most."""
        found = (one for one in self.differences if one.group != "varying")
        return tuple(sorted(found, key=lambda one: GROUPS.index(one.group)))

    @property
    def varying(self) -> tuple[Difference, ...]:
        """What is never the same twice."""
        return tuple(one for one in self.differences if one.group == "varying")

    @property
    def verdict(self) -> Literal["same", "differs", "nothing_compared"]:
        """In one word."""
        if self.notable:
            return "differs"
        return "same" if self.compared else "nothing_compared"
