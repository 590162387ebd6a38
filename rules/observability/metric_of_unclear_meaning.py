"""A required series whose name or unit does not say which metric it is.

Why it hurts: GiB read as GB, percent as a ratio or milliseconds as seconds make
verdicts on the values wrong, by up to a factor of a thousand.

What passes: required series under names of one metric each, in its unit, and ratios
that are no percent.

What is unknown: a name that may mean a required metric which no other series is.
Where it does not apply: series that nobody requires. Without a required one: unknown.

Source: open-telemetry/semantic-conventions; dcgm-exporter etc/default-counters.csv.

Bad::

    {"metric": "gpu.utilization", "value": 97}     # a ratio, in percent

Good::

    {"metric": "gpu.utilization", "value": 0.97}
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    MetricDictionary,
    MetricEntry,
    Metrics,
    finite_of,
    meanings_of,
    title_of,
)
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)


class Mapping(Numbers):
    """How many metrics a series may be; which metrics are ratios, and the largest."""

    mappings: int
    ratios: tuple[str, ...]
    largest_ratio: float


@rule(clause="OBS-004")
def metric_of_unclear_meaning(
    metrics: Metrics, dictionary: MetricDictionary, limit: Mapping
) -> Verdicts:
    """Judge each required series; the same fault of a metric is reported once."""
    result: dict[str, Verdict] = {}
    judged = 0
    there = {metric.metric.value for metric in metrics.each() if metric.metric.is_known}
    for series in metrics.each():
        meant = meanings_of(series, dictionary)
        entry = meant[0] if len(meant) == limit.mappings else None
        required = {
            metric_entry.id for metric_entry in meant if metric_entry.level == "must"
        }
        if not required or (not series.metric.is_known and required <= there):
            continue
        if entry is None:
            fault: Verdict | None = _unclear(series, meant, limit)
            name = series.written.or_else("")
        else:
            judged += 1
            fault = next(_faults(series, entry, limit), None)
            name = entry.id
        if fault is not None:
            result.setdefault(f"{name} {fault.outcome}", fault)
    yield from result.values()
    if judged and not result:
        yield passed(at=metrics.count, measured=judged)
    elif not result:
        text = "no series is one of the metrics that every run must have"
        yield unknown(text, missing=["metrics"], at=metrics.count)


def _unclear(series: Metric, meant: Sequence[MetricEntry], limit: Mapping) -> Verdict:
    return unknown(
        f"{series.written.or_else('a series')} may be any of {len(meant)} metrics "
        f"({', '.join(metric_entry.id for metric_entry in meant)}); a required one "
        "is exactly "
        f"{limit.mappings}",
        missing=[series.metric.name],
        at=series.written,
    )


def _faults(series: Metric, entry: MetricEntry, limit: Mapping) -> Iterator[Verdict]:
    name, unit = series.written.or_else(entry.id), series.unit.value
    values = finite_of(series)
    is_ratio = entry.id in limit.ratios
    if unit is None or (is_ratio and not values):
        leaf = series.unit if unit is None else series.values
        text = f"{name} may be {entry.id}: its unit or values are not known"
        yield unknown(text, missing=[leaf.name], at=series.written)
    elif unit != entry.unit:
        yield fail(
            f"{name} is in {unit}; {entry.id} is in {entry.unit}",
            at=[series.unit, series.written],
            measured=unit,
            required=entry.unit,
            cost="verdicts on its values are off by the ratio of the units",
        )
    elif is_ratio and max(values) > limit.largest_ratio:
        yield fail(
            f"{title_of(series)} reaches {max(values):g}; it is a ratio, of at most 1: "
            "is it in percent?",
            at=[series.values, series.written],
            measured=max(values),
            required=limit.largest_ratio,
            cost="verdicts on its values are off by a factor of 100",
            remedy="Name the unit %, or log the ratio.",
        )
