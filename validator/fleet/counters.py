"""What the counters of each node add up to, over all of its parts.

Kept while snapshots pass, where somebody compares two days: it costs time that no other
run of a fleet pays.
"""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from speccheck.validator.evidence.node.changes import COUNTERS
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.distributions import moved

EVENTS = "kernel_events"
# An event that a faulty program leaves speaks of the program.
_OF_APPLICATION = "of_application"
_MOSTEVENTS = 64  # kinds of events of one node, by their names
_MOST_NAME = 60
_MOST_COUNT = 2**64  # beyond it is no counter, and no NaN either


def _by_kind() -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for leaf in COUNTERS:
        kind, _, field = leaf.partition(".")
        if kind != EVENTS:
            found.setdefault(kind, []).append((field, leaf))
    return {kind: tuple(fields) for kind, fields in found.items()}


_BY_KIND = _by_kind()


class Totals(Record):
    """One counter over nodes: their numbers, and the sum on each."""

    nodes: "array[int]"
    sums: "array[float]"


class CounterStore:
    """The counters of all nodes, by leaf."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.kept: dict[str, Totals] = {}

    def add(self, number: int, content: Mapping[str, Any]) -> None:
        """Take the counters of the snapshot of a node."""
        kept = self.kept
        for leaf, total in node_counters(content):
            totals = kept.get(leaf)
            if totals is None:
                totals = kept[leaf] = Totals(array("I"), array("d"))
            totals.nodes.append(number)
            totals.sums.append(total)

    def take(self, other: "CounterStore", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for leaf, totals in other.kept.items():
            mine = self.kept.setdefault(leaf, Totals(array("I"), array("d")))
            mine.nodes.extend(moved(totals.nodes, base))
            mine.sums.extend(totals.sums)


def node_counters(content: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each counter that the node tells, with the sum over its parts.

    Of a list that lacks some parts, as far as it goes.
    """
    for kind, fields in _BY_KIND.items():
        found = content.get(kind)
        listed: list[Any] = found if isinstance(found, list) else [found]
        parts = [one for one in listed if isinstance(one, dict)]
        if not parts:
            continue
        for field, leaf in fields:
            values = [one[field] for one in parts if field in one]
            total = _sum(values)
            if total is not None:
                yield leaf, total
    yield from _events(content.get(EVENTS))


def _sum(values: list[Any]) -> float | None:
    """The sum of numbers, and of the numbers in lists; None where there is none."""
    total = 0.0
    is_told = False
    for value in values:
        for one in value if isinstance(value, list) else (value,):
            is_number = type(one) is int or type(one) is float
            if is_number and -_MOST_COUNT <= one <= _MOST_COUNT:
                total += one
                is_told = True
    return total if is_told else None


def _events(found: object) -> Iterator[tuple[str, float]]:
    """How often each kind of event stands in the log of the kernel, and all of them.

    A node that tells all of them tells that there was none of a kind.
    """
    if not isinstance(found, list):
        return
    counts: dict[str, float] = {}
    for one in found:
        if not isinstance(one, dict):
            continue
        event, count = one.get("event"), one.get("count")
        if not isinstance(event, str) or type(count) is not int:
            continue
        if not 0 <= count <= _MOST_COUNT:
            continue
        name = f"{EVENTS}.{event[:_MOST_NAME]}"
        if one.get("is_of_application") is True:
            name += f".{_OF_APPLICATION}"
        if name in counts or len(counts) < _MOSTEVENTS:
            counts[name] = counts.get(name, 0.0) + count
    yield EVENTS, sum(counts.values())
    yield from counts.items()


def is_grave(leaf: str) -> bool:
    """Whether growth by one is a fault already."""
    if leaf.startswith(f"{EVENTS}."):
        return not leaf.endswith(_OF_APPLICATION)
    counter = COUNTERS.get(leaf)
    return counter is not None and counter.is_grave
