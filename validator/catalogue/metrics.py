"""What names in logs mean: metrics and events of the dictionary, and their units.

A name alone may not tell: `throughput` is one thing to Megatron-LM and another to
others. Then a log must show by its other names whose dialect it is, or the name stays
a candidate, of which no value is judged.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Literal

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.measurement.telemetry import (
    MetricDictionary,
    MetricEntry,
)
from speccheck.validator.evidence.record import Record


@cache
def metric_dictionary() -> MetricDictionary:
    """Return the dictionary as rules see it, the same one each time."""
    return MetricDictionary(_entries)


def _entries() -> Mapping[str, MetricEntry]:
    rows = read_compiled("metrics")["metrics"]
    return {
        name: MetricEntry(
            id=name,
            unit=row["unit"],
            kind=row["kind"],
            group=row["group"],
            level=row["level"],
            interval_seconds=row.get("interval_seconds"),
            interval_steps=row.get("interval_steps"),
            clauses=tuple(row.get("clauses", ())),
            proxy_for=row.get("proxy_for", ""),
        )
        for name, row in rows.items()
    }


Reads = Literal["value", "presence", "with_its_dialect"]
_NUMBERED = re.compile(r"\.(\d{1,6})\.")


class Alias(Record):
    """What a name of one dialect means; canonical = told x scale.

    is_at: the told number that stands for 1, any other for 0.
    """

    metric: str
    dialect: str
    unit: str
    scale: float
    is_at: float | None
    reads: Reads


class EventEntry(Record):
    """One kind of event."""

    id: str
    level: str
    clauses: tuple[str, ...]
    means: str


class Meaning(Record):
    """What a name comes to in one log.

    alias: where it means one thing. candidates: what it may mean where it does not, or
    where no value can be made of it. gpu: the number that the name itself holds.
    """

    alias: Alias | None = None
    candidates: tuple[str, ...] = ()
    gpu: int | None = None


class MetricNames:
    """The names of all metrics and events."""

    def __init__(
        self,
        entry: Callable[[str], MetricEntry | None],
        aliases: Mapping[str, tuple[Alias, ...]],
        events: Mapping[str, EventEntry],
        event_aliases: Mapping[str, str],
        computed: Mapping[str, tuple[tuple[str, ...], ...]],
    ) -> None:
        """Take the tables.

        entry: the metric of an id. computed: by metric, the sets of others from each
        of which it can be worked out.
        """
        self.entry = entry
        self.aliases = aliases
        self.events = events
        self.event_aliases = event_aliases
        self.computed = computed

    def event_id(self, written: str) -> str | None:
        """Return the event of a name: its id, that without `run.`, or an alias."""
        for name in (written, f"run.{written}"):
            if name in self.events:
                return name
        return self.event_aliases.get(written)

    def dialects_of(self, names: Iterable[str]) -> frozenset[str]:
        """Return the dialects that some of these names belong to and to no other."""
        texts: set[str] = set()
        for name in names:
            rows, _ = self._rows(name)
            dialects = {row.dialect for row in rows}
            if len(dialects) == 1 and all(row.reads == "value" for row in rows):
                texts |= dialects
        return frozenset(texts)

    def meaning(self, name: str, dialects: frozenset[str]) -> Meaning:
        """Return what a name means in a log of these dialects."""
        entry = self.entry(name)
        if entry is not None:
            return Meaning(Alias(name, "", entry.unit, 1, None, "value"))
        rows, gpu = self._rows(name)
        own = [row for row in rows if row.dialect in dialects] or [*rows]
        sure = [
            alias
            for alias in own
            if alias.reads == "value" or _is_sure(alias, dialects)
        ]
        same = {(alias.metric, alias.unit, alias.scale, alias.is_at) for alias in sure}
        if len(same) == 1 and {alias.metric for alias in own} == {sure[0].metric}:
            return Meaning(sure[0], (), gpu)
        return Meaning(None, tuple(sorted({alias.metric for alias in own})), gpu)

    def _rows(self, name: str) -> tuple[tuple[Alias, ...], int | None]:
        rows = self.aliases.get(name)
        if rows is not None:
            return rows, None
        numbered = _NUMBERED.search(name)
        if numbered is None:
            return (), None
        pattern = f"{name[: numbered.start()]}.{{i}}.{name[numbered.end() :]}"
        return self.aliases.get(pattern, ()), int(numbered[1])


def _is_sure(alias: Alias, dialects: frozenset[str]) -> bool:
    return alias.reads == "with_its_dialect" and alias.dialect in dialects


@cache
def metric_names() -> MetricNames:
    """Return the names, the same ones each time."""
    document = read_compiled("metrics")
    return MetricNames(
        metric_dictionary().entry,
        {
            name: tuple(Alias(*row) for row in rows)
            for name, rows in document["aliases"].items()
        },
        {
            name: EventEntry(name, level, tuple(clauses), means)
            for name, (level, clauses, means) in document["events"].items()
        },
        document["event_aliases"],
        {
            name: tuple(tuple(set_) for set_ in sets)
            for name, sets in document["computed_from"].items()
        },
    )
