"""Energy per token that is not reported, or is less than the GPUs alone took.

Why it hurts: it is the one figure of efficiency that compares clusters, precisions and
power limits; a figure that leaves out some of the GPUs compares nothing.

What passes: run.energy_per_token in a log. Where energy counters and the tokens of the
same time are there too, it is no less than what these give.

What is unknown: a lint and a preflight may see one log of many; where the use is
certification the evidence is all there is, and a missing figure fails.

Where it does not apply: nowhere.

Source: claims S1#30, S2#50; arithmetic: joules of all GPUs over tokens.

Bad::

    energy_per_token 0.1 J      # 8 GPUs took 4.2 MJ for 10 million tokens: 0.42 J

Good::

    energy_per_token 0.48 J     # with hosts and network
"""

from statistics import median

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    Sample,
    finite_of,
    samples_of,
    series_of,
)
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.telemetry import grown
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)


class Reported(Numbers):
    """What a missing figure counts as; how far below the counters one may lie."""

    absent_is: str
    least_share: float


@rule(clause="ENER-002")
def energy_per_token_missing(metrics: Metrics, limit: Reported) -> Verdicts:
    """Judge the figure that is reported, against the counters where there are some."""
    series = series_of(metrics, ["run.energy_per_token"])
    figures = [value for metric in series for value in finite_of(metric) if value > 0]
    if not figures:
        yield _absent(metrics, limit)
        return
    result, at = median(figures), [metric.values for metric in series]
    counted = _by_counters(metrics)
    if counted is None or result >= counted * limit.least_share:
        yield passed(at=at, measured=result)
        return
    yield fail(
        f"{result:.3g} J per token are reported; the energy counters of the GPUs alone "
        f"give {counted:.3g} J: the figure leaves out some of them",
        at=at,
        measured=result,
        required=counted,
        cost="the figure compares with no other cluster",
    )


def _absent(metrics: Metrics, limit: Reported) -> Verdict:
    message, name = "no log holds the energy per token", "run.energy_per_token"
    if limit.absent_is == "fail" and metrics.shown:
        return fail(message, at=metrics.count, measured="none", required=name)
    return unknown(message, missing=[name], at=metrics.count)


def _by_counters(metrics: Metrics) -> float | None:
    """Return the joules per token of all GPUs with a counter; None without any.

    Raises MissingEvidence where there are counters that cannot be compared.
    """
    counters = series_of(metrics, ["gpu.energy"])
    tokens = series_of(metrics, ["train.tokens_total"])
    for token in tokens if counters else ():
        times = [sample.time for sample in _timed(token) if sample.time is not None]
        if not times:
            continue
        begin, end = times[0], times[-1]
        joules = sum(_grown_within(counter, begin, end) for counter in counters)
        made = _grown_within(token, begin, end)
        if joules and made:
            return joules / made
    if counters and tokens:
        reason = "energy and tokens of the same time are not known"
        raise MissingEvidence(counters[0].times.name, reason)
    return None


def _timed(series: Metric) -> list[Sample]:
    return [
        sample
        for sample in samples_of(series)
        if None not in (sample.time, sample.value)
    ]


def _grown_within(series: Metric, begin: float, end: float) -> float:
    return grown(
        sample.value
        for sample in _timed(series)
        if sample.value is not None
        and sample.time is not None
        and begin <= sample.time <= end
    )
