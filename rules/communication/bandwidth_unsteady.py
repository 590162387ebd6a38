"""Bandwidth that differs from run to run, or within one.

Why it hurts: a link that is marginal, or traffic of others, makes every other figure a
matter of luck. A node that passes today fails tomorrow.

What passes: over as many runs as the clause asks for, a coefficient of variation of at
most its limit; within a run, quartiles of the iterations at most its share apart.

Where it does not apply: fewer runs, and tools that print no spread; small messages,
whose times scatter on healthy machines too.

Source: engineering default; Azure reports transient swings of a fifth.

Bad::

    # ten runs at 8 GiB: 372, 371, 298, 370, 305, ... GB/s

Good::

    # ten runs at 8 GiB: 372, 371, 370, 372, 369, ... GB/s
"""

from collections.abc import Iterator
from statistics import mean, pstdev

from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.forecast.collective_series import (
    Series,
    series_of,
    steady_rates,
)
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class Steadiness(Numbers):
    """The spread of bandwidth that repeated measurements may show.

    runs: the fewest runs that are judged together.
    cv_max: coefficient of variation over runs.
    spread_max: spread within one run.
    least_payload: the smallest message that is judged, in bytes.
    """

    runs: int
    cv_max: float
    spread_max: float
    least_payload: int


@rule(clause="COMM-013", confidence="calibrated")
def bandwidth_unsteady(runs: CollectiveRuns, limit: Steadiness) -> Verdicts:
    """Judge the runs of a series against each other, and each by itself."""
    for series in series_of(runs.each()):
        size, rates = steady_rates(series, limit.least_payload)
        if len(rates) >= limit.runs and mean(rates) > 0:
            yield _of_series(series, size, rates, limit.cv_max)
        for run in series.runs:
            yield from _of_run(run, limit)


def _of_series(series: Series, size: int, rates: list[float], most: float) -> Verdict:
    variation = pstdev(rates) / mean(rates)
    at = [run.bus_bytes_per_second for run in series.runs]
    if variation <= most:
        return passed(at=at[:1], measured=round(variation, 2), required=most)
    return fail(
        f"{series.title}: {len(rates)} runs at {shown_bytes(size)} lie from "
        f"{min(rates) / GIGA:.4g} to {max(rates) / GIGA:.4g} GB/s, a coefficient of "
        f"variation of {variation:.1%}; at most {most:.0%} should be",
        at=at,
        measured=round(variation, 2),
        required=most,
    )


def _of_run(run: CollectiveRun, limit: Steadiness) -> Iterator[Verdict]:
    rows = zip(run.size_bytes.or_else(()), run.spread.or_else(()), strict=False)
    numbers = max(
        (
            (spread, size)
            for size, spread in rows
            if size is not None and spread is not None and size >= limit.least_payload
        ),
        default=None,
    )
    if numbers is None:
        return
    spread, size = numbers
    if spread <= limit.spread_max:
        yield passed(
            at=run.spread, measured=round(spread, 2), required=limit.spread_max
        )
        return
    yield fail(
        f"{Series((run,)).title}: at {shown_bytes(size)} the middle half of the "
        f"iterations is {spread:.0%} of the median apart; at most "
        f"{limit.spread_max:.0%} should be",
        at=[run.spread],
        measured=round(spread, 2),
        required=limit.spread_max,
    )
