"""A rank whose steps take longer than those of the others.

Why it hurts: all ranks wait for the slowest in every collective. Thermal throttling and
sick links show here first.

What passes: in each window of steps, the median step time of every rank within the
ratio of the clause to the median over all ranks. A single slow step does not count.

Where it does not apply: one node. Step times of few ranks, or without steps, are
unknown: there is no telling who is slow.

Source: claim S3#54; GoogleCloudPlatform/cluster-health-scanner; the ratio is an
engineering default.

Bad::

    rank 17: 1.61 s a step; all others: 1.20 s

Good::

    rank 17: 1.22 s a step; all others: 1.20 s
"""

from collections.abc import Mapping
from statistics import median

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    samples_of,
    series_of,
)
from speccheck.validator.models.telemetry import medians_by_window
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Straggler(Numbers):
    """The ratio to the median of all ranks, how many that takes, and the window."""

    straggler_ratio: float
    fewest_ranks: int
    window: int


@rule(clause="FT-010", confidence="calibrated")
def rank_slower_than_others(metrics: Metrics, limit: Straggler) -> Verdicts:
    """Judge the slowest rank of each window; the worst of all is reported."""
    series = {
        metric.rank.value: metric
        for metric in series_of(metrics, ["train.step_time.rank"])
        if metric.rank.is_known
    }
    windows: dict[int, dict[int | None, float]] = {}
    for rank, metric in series.items():
        for number, value in _medians(metric, limit.window).items():
            windows.setdefault(number, {})[rank] = value
    ratios = [
        (item / median(ranks.values()), rank, number, item)
        for number, ranks in windows.items()
        if len(ranks) >= limit.fewest_ranks and median(ranks.values())
        for rank, item in ranks.items()
    ]
    if not ratios:
        yield unknown(
            f"step times by step of {limit.fewest_ranks} ranks or more are needed; the "
            f"logs hold those of {len(series)}",
            missing=["train.step_time.rank"],
            at=metrics.count,
        )
        return
    ratio, rank, number, value = max(ratios, key=lambda ratio: ratio[0])
    at = series[rank].values
    if ratio <= limit.straggler_ratio:
        yield passed(at=at, measured=ratio, required=limit.straggler_ratio)
        return
    slow = {ratio[1] for ratio in ratios if ratio[0] > limit.straggler_ratio}
    also = f"; {len(slow) - 1} more ranks are slow" if slow - {rank} else ""
    node = series[rank].node.value
    where = f" on {node}" if node else ""
    first = number * limit.window
    yield fail(
        f"rank {rank}{where} takes {value:.3g} s a step in steps {first:,} to "
        f"{first + limit.window - 1:,}, {ratio:.2f} times the median of "
        f"{len(windows[number])} ranks; at most {limit.straggler_ratio:g} times is "
        f"expected{also}",
        at=at,
        measured=ratio,
        required=limit.straggler_ratio,
        cost=f"up to {ratio - 1:.0%} of every step of all ranks",
        action="MONITOR",
    )


def _medians(series: Metric, window: int) -> Mapping[int, float]:
    return medians_by_window(
        (
            (sample.step, sample.value)
            for sample in samples_of(series)
            if sample.step is not None and sample.value is not None
        ),
        window,
    )
