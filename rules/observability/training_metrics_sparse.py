"""Metrics of the training loop that the log of a run holds too rarely.

Why it hurts: sparse logs hide spikes, stalls and the step at which a fault began; and
what a configuration promises is not always what was written.

What passes: loss, gradient norm, learning rate, step and step time - as far as they are
logged - whose gaps keep the interval of the clause, in steps or in time, whichever is
longer. Of two series of the same metric the denser one counts.

What is excused: time in evaluations, saves of checkpoints and recoveries that events
declare, and the gap at which steps begin anew.

Where it does not apply: a plan that states its interval, without a log. One sample has
no interval, and a log without times cannot show that few steps are long: unknown.

Source: pytorch/torchtitan log_freq 10; the tolerances are an engineering default.

Bad::

    step 500 at 00:41:00, step 1000 at 01:22:00

Good::

    step 10 at 00:00:49, step 20 at 00:01:38
"""

from speccheck.rules.observability._intervals import (
    Kept,
    better,
    kept,
    training_gaps,
)
from speccheck.validator.evidence.measurement.telemetry import (
    MetricDictionary,
    Metrics,
    RunEvents,
    samples_of,
    series_of,
    windows_of,
)
from speccheck.validator.evidence.plan import Telemetry
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_LOSS = "train.loss"


class Training(Numbers):
    """The interval in steps and in time, and how far samples may stray from it."""

    log_steps: int
    log_seconds: float
    typical_gap: float
    p99_gap: float
    longest_gap: float
    coverage: float


@rule(clause="OBS-003")
def training_metrics_sparse(
    metrics: Metrics,
    events: RunEvents,
    telemetry: Telemetry,
    dictionary: MetricDictionary | None,
    limit: Training,
) -> Verdicts:
    """Judge each metric by its best series of a run."""
    by_plan = telemetry.log_interval_steps, telemetry.log_interval_seconds
    if not metrics.count.is_known and any(value.is_known for value in by_plan):
        return
    metrics.each()
    names = (
        [metric_entry.id for metric_entry in dictionary.of_clause("OBS-003")]
        if dictionary
        else []
    )
    windows = windows_of(events)
    best: dict[tuple[str | None, str], Kept | None] = {}
    untimed = False
    for series in series_of(metrics, names):
        samples = samples_of(series)
        untimed = untimed or all(sample.time is None for sample in samples)
        title = series.metric.need()
        key = series.run.value, title
        gaps = training_gaps(samples, windows, limit.log_steps, limit.log_seconds)
        best[key] = better(best.get(key), kept(title, series, gaps, limit))
    kepts = [item for item in best.values() if item is not None]
    bad = [item for item in kepts if item.faults]
    has_loss = any(item.title == _LOSS for item in kepts)
    if (not bad and not has_loss) or (bad and untimed):
        what = "times of the samples" if bad else f"two samples of {_LOSS}"
        lacking = bad[0].series.times.name if bad else _LOSS
        if kepts or not any(value.is_known for value in by_plan):
            yield unknown(f"the logs lack {what}", missing=[lacking], at=metrics.count)
        return
    if not bad:
        worst = max(kepts, key=lambda item: item.adherence.longest_gap)
        yield passed(at=worst.series.values, measured=worst.adherence.longest_gap)
        return
    worst = max(bad, key=lambda item: item.adherence.median_gap)
    yield fail(
        f"{len(bad)} of {len(kepts)} training metrics do not keep the interval of "
        f"{limit.log_steps} steps or {limit.log_seconds:g} s, whichever is longer; "
        f"{worst.title}: {worst.message}",
        at=worst.series.values,
        measured=worst.adherence.median_gap,
        required=limit.typical_gap,
        cost="a diverging loss or a slow node is seen one line later",
    )
