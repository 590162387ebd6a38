"""What differs between two documents that speccheck wrote."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from speccheck.validator.evidence.record import Record

Kind = Literal["certificate", "report"]
# changed: two values. came, went: only one of the two has it. rose, fell: numbers and
# levels, which can be told from worse and better.
Change = Literal["changed", "came", "went", "rose", "fell"]
Group = Literal[
    "levels",
    "clauses",
    "coverage",
    "judged_by",
    "waivers",
    "identity",
    "numbers",
    "specimens",
    "evidence",
    "varying",
]
GROUPS: tuple[Group, ...] = (
    *("levels", "clauses", "coverage", "judged_by", "waivers", "identity"),
    *("numbers", "specimens", "evidence", "varying"),
)
Scalar = str | int | float | bool | None


class Side(Record):
    """One document; name: what it is about. release: of the speccheck that wrote it.

    created: as it says, UTC. synthetic: who made up the evidence, empty for nobody.
    """

    file: str
    name: str
    created: str
    release: str
    synthetic: str


class Difference(Record):
    """One thing that differs.

    a, b: the values, None where there is none. by: of numbers, how much more the second
    is, as a share of the first. note: why, or what follows. matters: invalidates what
    was measured.
    """

    group: Group
    subject: str
    change: Change
    a: Scalar
    b: Scalar
    by: float | None = None
    unit: str = ""
    note: str = ""
    matters: bool = False


class ComparedDocuments(Record):
    """Two documents of one kind.

    compared: how many clauses, fields, numbers and files both tell. not_compared: what
    both have and of which nothing follows, or what only one could tell, with reasons.
    """

    kind: Kind
    a: Side
    b: Side
    differences: tuple[Difference, ...]
    compared: int
    not_compared: tuple[str, ...]

    @property
    def notable(self) -> tuple[Difference, ...]:
        """All but what is never the same twice, by what matters most."""
        result = (
            difference
            for difference in self.differences
            if difference.group != "varying"
        )
        return tuple(
            sorted(
                result,
                key=lambda difference: (
                    GROUPS.index(difference.group),
                    _weight(difference),
                ),
            )
        )

    @property
    def varying(self) -> tuple[Difference, ...]:
        """What is another one in each document, and numbers within their spread."""
        return tuple(
            difference
            for difference in self.differences
            if difference.group == "varying"
        )

    @property
    def verdict(self) -> Literal["same", "differs", "nothing_compared"]:
        """In one word."""
        if self.notable:
            return "differs"
        return "same" if self.compared else "nothing_compared"


def _weight(difference: Difference) -> int:
    """Return the weight: clauses that fail now first, unjudged before last."""
    if difference.group != "clauses":
        return 0
    is_news = difference.change == "changed"
    order = ("fail", "error", "unknown")
    return (
        order.index(str(difference.b)) if difference.b in order else 3 if is_news else 4
    )


def of_tables(
    group: Group, a: Mapping[str, Scalar], b: Mapping[str, Scalar]
) -> Iterator[Difference]:
    """Yield what differs between two tables of values, in the order of their names."""
    for name in sorted({*a, *b}):
        if name not in b:
            yield Difference(group, name, "went", a[name], None)
        elif name not in a:
            yield Difference(group, name, "came", None, b[name])
        elif a[name] != b[name]:
            yield Difference(group, name, "changed", a[name], b[name])


def in_both(a: Iterable[object], b: Iterable[object]) -> int:
    """Return how many of the two are in both."""
    return len({*a} & {*b})
