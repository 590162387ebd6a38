"""Bandwidths that tell another number of ranks than the log shows.

Why it hurts: built without MPI, each process of nccl-tests measures its own GPUs and
calls it the whole job: single nodes look like a cluster that scales. The two figures of
each line give it away, since bus over algorithm bandwidth is 2 (n - 1) / n of n ranks.

What passes: both bandwidths of the largest message fit the ranks of the log, as closely
as the digits that were printed allow.

Where it does not apply: figures of one bandwidth only; so many ranks, or so few digits,
that the ratio does not tell them from twice as many.

Source: NVIDIA/nccl-tests doc/PERFORMANCE.md.

Bad::

    # 16 ranks asked for; algbw 274.23, busbw 479.90: 1.75 = 2 x 7 / 8, eight ranks

Good::

    # 16 ranks; algbw 181.00, busbw 339.38: 1.875 = 2 x 15 / 16
"""

from collections.abc import Iterator

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.forecast.bandwidth import collective_of
from speccheck.validator.forecast.collective_series import Series
from speccheck.validator.models.bus_bandwidth import (
    GIGA,
    Collective,
    bus_factor,
    ranks_of_ratio,
)
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Digits(Numbers):
    """The rounding error of a printed bandwidth, in GB/s."""

    rounding: float


@rule(clause="COMM-073")
def rank_count_contradicted(run: CollectiveRun, limit: Digits) -> Verdicts:
    """Judge the size whose figures have most digits."""
    collective = collective_of(run) if run.collective.is_known else None
    rate = max(_rates(run), default=None)
    if collective is None or rate is None or not run.ranks.is_known:
        return
    ranks = run.ranks.need()
    expected = bus_factor(collective, ranks)
    if expected == bus_factor(collective, 2 * ranks):  # the same for any number
        return
    algorithm, bus = rate
    ratio = bus / algorithm
    slack = limit.rounding * GIGA / algorithm * (1 + ratio)
    title = Series((run,)).title
    at = [run.bus_bytes_per_second, run.algorithm_bytes_per_second, run.ranks]
    if abs(ratio - expected) > slack:
        yield fail(
            f"{title}: bus over algorithm bandwidth is {bus / GIGA:.4g} / "
            f"{algorithm / GIGA:.4g} = {ratio:.4f}, and {expected:.4f} of {ranks} "
            f"ranks; {_ratio_text(collective, ratio)}",
            at=at,
            measured=f"{ratio:.4f}",
            required=f"{expected:.4f}",
        )
    elif slack > abs(expected - bus_factor(collective, 2 * ranks)) / 2:
        return
    elif not run.is_complete.value:
        end = run.is_complete.name
        yield unknown(f"{title}; no end of the run is seen", missing=[end], at=at)
    else:
        yield passed(at=at, measured=f"{ratio:.4f}", required=f"{expected:.4f}")


def _rates(run: CollectiveRun) -> Iterator[tuple[float, float]]:
    """Yield both bandwidths of each size that has them."""
    algorithm = run.algorithm_bytes_per_second.or_else(())
    bus = run.bus_bytes_per_second.or_else(())
    for value, other in zip(algorithm, bus, strict=False):
        if value and other is not None:
            yield value, other


def _ratio_text(collective: Collective, ratio: float) -> str:
    ranks = ranks_of_ratio(collective, ratio)
    return "no number of ranks gives it" if ranks is None else f"{ranks} would give it"
