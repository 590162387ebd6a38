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

    coverage: the share of the span that lies within an interval of the sample before.
    """

    coverage: float
    median_gap: float
    gap_99: float  # 99 of 100 gaps are no longer
    longest_gap: float


def interval_adherence(times: Sequence[float], interval: float) -> Adherence | None:
    """How samples taken at `times`, in order, keep the interval; None below two."""
    return adherence([(later - one) / interval for one, later in pairwise(times)])


def adherence(gaps: Sequence[float]) -> Adherence | None:
    """How samples with such gaps, in intervals, keep it; None without any."""
    if not gaps:
        return None
    ordered = sorted(gaps)
    span = sum(ordered)
    coverage = sum(min(one, 1) for one in ordered) / span if span else 0.0
    return Adherence(
        coverage, _quantile(ordered, 0.5), _quantile(ordered, 0.99), ordered[-1]
    )


def left_of(begin: float, end: float, windows: Sequence[tuple[float, float]]) -> float:
    """How much of a stretch of time lies outside all windows.

    windows: begin and end, which may overlap each other.
    """
    left, reached = end - begin, begin
    for opened, closed in sorted(windows):
        one, other = max(opened, reached), min(closed, end)
        if other > one:
            left -= other - one
            reached = other
    return left


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
