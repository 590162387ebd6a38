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

from itertools import pairwise

from speccheck.validator.evidence.measurement.series import samples_of, series_of
from speccheck.validator.evidence.measurement.telemetry import Metrics, RunLogs
from speccheck.validator.models.durations import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Latency(Numbers):
    """The interval, and by how much a gap may exceed it."""

    latency_interval: float
    slack: float


@rule(clause="OBS-005")
def latency_not_sampled(metrics: Metrics, logs: RunLogs, limit: Latency) -> Verdicts:
    """Judge the gaps of all measurements together, and what follows the last."""
    series = series_of(metrics, ["net.internode.latency"])
    times = sorted(
        {
            sample.time
            for one in series
            for sample in samples_of(one)
            if sample.time is not None and sample.value is not None
        }
    )
    if not times:
        yield unknown(
            "no log holds the latency between nodes with the times at which it was "
            "measured",
            missing=["net.internode.latency"],
            at=metrics.count,
        )
        return
    ends = [one.last_seconds.value for one in logs.shown]
    end = max([one for one in ends if one is not None], default=times[-1])
    gaps = [later - one for one, later in pairwise([*times, max(end, times[-1])])]
    longest, most = max(gaps), limit.latency_interval * limit.slack
    at = [one.times for one in series]
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
