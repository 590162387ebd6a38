"""Steps that wait for their data.

Why it hurts: a wait adds to every step of every GPU, and grows with the cluster where
storage is shared.

What passes: a mean share of the step time at most that of the clause.

Where it does not apply: nowhere; without the series the clause is undecided. The first
sample does not count: a loader that starts fills its buffers.

Source: claim S1#20; the share is an engineering default.

Bad::

    time_metrics/data_loading(%): 14.2

Good::

    time_metrics/data_loading(%): 0.4
"""

from statistics import fmean

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    finite_of,
    series_of,
    title_of,
)
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Wait(Numbers):
    """The largest share of a step that may be spent waiting for data."""

    wait_share: float


@rule(clause="DATA-003")
def training_waits_for_data(metrics: Metrics, limit: Wait) -> Verdicts:
    """Judge the series with the largest mean."""
    means: list[tuple[float, Metric]] = []
    for metric in series_of(metrics, ["train.data_wait"]):
        steady = finite_of(metric)[1:]
        if steady:
            means.append((fmean(steady), metric))
    if not means:
        yield unknown(
            "no log holds the share of steps that waits for data, more than once",
            missing=["train.data_wait"],
            at=metrics.count,
        )
        return
    share, worst = max(means, key=lambda pair: pair[0])
    if share <= limit.wait_share:
        yield passed(at=worst.values, measured=share, required=limit.wait_share)
        return
    yield fail(
        f"{title_of(worst)}: {share:.1%} of the step time waits for data; at most "
        f"{limit.wait_share:.1%} should",
        at=worst.values,
        measured=share,
        required=limit.wait_share,
        cost=f"{share:.1%} of each step of every GPU",
    )
