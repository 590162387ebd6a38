"""Latency between nodes that was measured too rarely during a run.

Why it hurts: latency creeps up at a congested or flapping path days before it fails;
one measurement at the start shows nothing of that.

What passes: measurements, by whichever pairs of nodes, whose gaps keep the interval up
to the end of the run. A run shorter than the interval needs one.

Where it does not apply: one node. Without the series the clause is undecided.

Source: claim S2#38; the interval is an engineering default.

Bad::

    # a run of 9 h: net.internode.latency at 00:00 only

Good::

    # net.internode.latency at 00:00, 00:30, 01:00, ...
"""

from collections.abc import Iterator
from itertools import pairwise

from speccheck.validator.evidence.measurement.telemetry import (
    MetricDictionary,
    Metrics,
    RunLogs,
    samples_of,
    series_of,
)
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_LATENCY = "net.internode.latency"


class Latency(Numbers):
    """The interval, and by how much a gap may exceed it."""

    latency_interval: float
    slack: float


@rule(clause="OBS-005")
def latency_not_sampled(
    metrics: Metrics, logs: RunLogs, dictionary: MetricDictionary, limit: Latency
) -> Verdicts:
    """Judge the gaps of all measurements together, and what follows the last."""
    series = series_of(metrics, [_LATENCY])
    times = sorted(
        {
            sample.time
            for metric in series
            for sample in samples_of(metric)
            if sample.time is not None and sample.value is not None
        }
    )
    if not times:
        yield unknown(
            "no log holds the latency between nodes with the times at which it was "
            "measured",
            missing=[_LATENCY],
            at=metrics.count,
        )
        return
    end = max([times[-1], *_ends(metrics, logs, dictionary)])
    gaps = [later - value for value, later in pairwise([*times, end])]
    longest, most = max(gaps), limit.latency_interval * limit.slack
    at = [metric.times for metric in series]
    if longest <= most:
        yield passed(at=at, measured=longest, required=limit.latency_interval)
        return
    yield fail(
        f"{duration(longest)} passed without a measurement of the latency between "
        f"nodes; at most {duration(limit.latency_interval)} should",
        at=at,
        measured=longest,
        required=limit.latency_interval,
        cost="a path that degrades is seen when it fails",
    )


def _ends(
    metrics: Metrics, logs: RunLogs, dictionary: MetricDictionary
) -> Iterator[float]:
    """Yield when training ends, or the latency's logs where nothing states it.

    Raises MissingEvidence where that is not known.
    """
    training = series_of(
        metrics, (metric_entry.id for metric_entry in dictionary.of_clause("OBS-003"))
    )
    for metric in training:
        times = [time for time in metric.times.need() if time is not None]
        if not times:
            raise MissingEvidence(metric.times.name, "no sample has a time")
        yield max(times)
    for metric in () if training else series_of(metrics, [_LATENCY]):
        number = metric.log.need()
        if number < 0 or number >= len(logs.each()):
            raise MissingEvidence(metric.log.name, "there is no such log")
        yield logs.shown[number].last_seconds.need()
