"""Loads the metric dictionary, when something first looks into it."""

from collections.abc import Mapping
from functools import cache

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.measurement.metric_dictionary import (
    MetricDictionary,
    MetricEntry,
)


@cache
def metric_dictionary() -> MetricDictionary:
    """The dictionary as rules see it, the same one each time."""
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
