"""Accelerators whose multiprocessors are idle for much of a run.

Why it hurts: below the lower value of the clause more than half of the hardware bill
buys waiting - for data, for communication, for other stages.

What passes: the mean of SM activity over all GPUs, in steady state, at the target.

What is steady: after the warm-up of the clause, counted from the first sample of the
training loop where there is one, until its last; without evaluations, saves and
recoveries that events declare.

Where it does not apply: nowhere; gpu.utilization is no substitute, since a kernel that
waits reads near 100 percent. Too few samples in steady state are unknown.

Source: claims S0#12, S2#46; the target is an engineering default.

Bad::

    DCGM_FI_PROF_SM_ACTIVE 0.31

Good::

    DCGM_FI_PROF_SM_ACTIVE 0.82
"""

from collections.abc import Iterable
from statistics import fmean

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    MetricDictionary,
    Metrics,
    RunEvents,
    Sample,
    samples_of,
    series_of,
    title_of,
    windows_of,
)
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Floor(Numbers):
    """The activity, the warm-up that does not count, and the fewest samples."""

    activity_target: float
    activity_fail: float
    warm_up: float
    fewest_samples: int


@rule(clause="OBS-008", confidence="calibrated")
def accelerators_mostly_idle(
    metrics: Metrics, events: RunEvents, dictionary: MetricDictionary, limit: Floor
) -> Verdicts:
    """Judge the mean over all GPUs, and name the least busy."""
    series = series_of(metrics, ["gpu.sm_activity"])
    training = series_of(
        metrics, (metric_entry.id for metric_entry in dictionary.of_clause("OBS-003"))
    )
    frame = _times(training) or _times(series)
    windows = windows_of(events)
    means: list[tuple[float, Metric]] = []
    for metric in series if frame else ():
        begin, end = min(frame) + limit.warm_up, max(frame)
        steady = [
            sample.value
            for sample in samples_of(metric)
            if sample.value is not None
            and sample.time is not None
            and begin <= sample.time <= end
            and not any(opened <= sample.time <= shut for opened, shut in windows)
        ]
        if len(steady) >= limit.fewest_samples:
            means.append((fmean(steady), metric))
    if not means:
        yield unknown(
            f"SM activity with {limit.fewest_samples} samples or more, later than "
            f"{limit.warm_up:g} s into training, is in no log",
            missing=["gpu.sm_activity"],
            at=metrics.count,
        )
        return
    least, worst = min(means, key=lambda pair: pair[0])
    mean = fmean(value for value, _ in means)
    if mean >= limit.activity_target:
        yield passed(at=worst.values, measured=mean, required=limit.activity_target)
        return
    depth = (
        f", and below {limit.activity_fail:.0%} more than half of the hardware waits"
        if mean < limit.activity_fail
        else ""
    )
    yield fail(
        f"SM activity is {mean:.0%} on average over {len(means)} series, least "
        f"{least:.0%} ({title_of(worst)}); it should be {limit.activity_target:.0%} or "
        f"more{depth}",
        at=worst.values,
        measured=mean,
        required=limit.activity_target,
        cost=f"{1 - mean:.0%} of the multiprocessors' time is waiting",
    )


def _times(series: Iterable[Metric]) -> list[float]:
    samples: Iterable[Sample] = (
        sample for each in series for sample in samples_of(each)
    )
    return [sample.time for sample in samples if sample.time is not None]
