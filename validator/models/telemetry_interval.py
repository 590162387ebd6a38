"""Whether samples come as often as they should, and what unit their times have."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from speccheck.validator.evidence.record import Record

# A time of this century is larger than these only in the finer unit.
_FROM_NANOSECONDS, _FROM_MICROSECONDS, _FROM_MILLISECONDS = 1e17, 1e14, 1e11


class Adherence(Record):
    """How samples keep an interval: gaps are counted in intervals.

    coverage: the share of the span that gaps, each counted as one interval, fill.
    """

    coverage: float
    median_gap: float
    gap_99: float  # 99 of 100 gaps are no longer
    longest_gap: float


def interval_adherence(times: Sequence[float], interval: float) -> Adherence | None:
    """How samples taken at `times`, in order, keep the interval; None below two."""
    gaps = sorted((later - one) / interval for one, later in pairwise(times))
    if not gaps:
        return None
    span = sum(gaps)
    coverage = len(gaps) / span if span else 0.0
    return Adherence(coverage, _quantile(gaps, 0.5), _quantile(gaps, 0.99), gaps[-1])


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest element that `share` of them do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def timestamp_unit(value: float) -> Literal["s", "ms", "us", "ns"]:
    """The unit of a Unix time of this century, by its size."""
    if value > _FROM_NANOSECONDS:
        return "ns"
    if value > _FROM_MICROSECONDS:
        return "us"
    return "ms" if value > _FROM_MILLISECONDS else "s"
