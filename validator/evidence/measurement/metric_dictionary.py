"""What the metric dictionary asks of a series: unit, interval, level, stand-ins."""

from collections.abc import Callable, Mapping
from typing import Literal

from speccheck.validator.evidence.record import Record


class MetricEntry(Record):
    """One metric of the dictionary.

    kind: gauge, counter or histogram. group: training, memory, accelerator, energy,
    errors, network, checkpoint, node. interval_seconds, interval_steps: the longest
    that it may be silent; None where the dictionary sets none. clauses: that ask for
    it. proxy_for: the metric that it stands for, together with its other stand-ins.
    """

    id: str
    unit: str
    kind: str
    group: str
    level: Literal["must", "should", "may"]
    interval_seconds: float | None = None
    interval_steps: int | None = None
    clauses: tuple[str, ...] = ()
    proxy_for: str = ""


class MetricDictionary:
    """The dictionary, read when a rule first looks into it."""

    __slots__ = ("_entries", "_read")
    kind = "metrics"  # what is missing where nobody gives a dictionary
    scope = "measurement"

    def __init__(self, read: Callable[[], Mapping[str, MetricEntry]]) -> None:
        """Take what reads it."""
        self._read = read
        self._entries: Mapping[str, MetricEntry] | None = None

    @property
    def entries(self) -> Mapping[str, MetricEntry]:
        """All metrics by id."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def entry(self, name: str | None) -> MetricEntry | None:
        """The metric of that id; None for one that the dictionary does not have."""
        return None if name is None else self.entries.get(name)

    def of_clause(self, clause: str) -> tuple[MetricEntry, ...]:
        """The metrics that a clause asks for."""
        return tuple(one for one in self.entries.values() if clause in one.clauses)

    def stand_ins(self, name: str) -> tuple[str, ...]:
        """The metrics that together stand for one that nobody exports."""
        return tuple(one.id for one in self.entries.values() if one.proxy_for == name)
