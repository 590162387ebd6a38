"""Arithmetic on what the log of a run tells: counters, rates, percentiles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import median
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
    """Return how samples taken at `times`, in order, keep the interval.

    None below two.
    """
    return adherence([(later - value) / interval for value, later in pairwise(times)])


def adherence(gaps: Sequence[float]) -> Adherence | None:
    """Return how samples with such gaps, in intervals, keep it; None without any."""
    if not gaps:
        return None
    ordered = sorted(gaps)
    span = sum(ordered)
    coverage = sum(min(value, 1) for value in ordered) / span if span else 0.0
    return Adherence(
        coverage, _quantile(ordered, 0.5), _quantile(ordered, 0.99), ordered[-1]
    )


def left_of(begin: float, end: float, windows: Sequence[tuple[float, float]]) -> float:
    """Return how much of a stretch of time lies outside all windows.

    windows: begin and end, which may overlap each other.
    """
    left, reached = end - begin, begin
    for opened, closed in sorted(windows):
        value, other = max(opened, reached), min(closed, end)
        if other > value:
            left -= other - value
            reached = other
    return left


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest element that `share` of them do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def timestamp_unit(value: float) -> Literal["s", "ms", "us", "ns"]:
    """Return the unit of a Unix time of this century, by its size."""
    if value > _FROM_NANOSECONDS:
        return "ns"
    if value > _FROM_MICROSECONDS:
        return "us"
    return "ms" if value > _FROM_MILLISECONDS else "s"


_STEPS_OF_A_RATE = 1000
_HUNDRED = 100


def counted(values: Iterable[float]) -> float:
    """Return what a counter counted from its start on.

    One that falls has begun anew.
    """
    total, before = 0.0, 0.0
    for value in values:
        total += value - before if value >= before else value
        before = value
    return total


def grown(values: Iterable[float]) -> float:
    """Return what a counter counted between its first and its last reading."""
    read = list(values)
    return counted(read) - read[0] if read else 0.0


def allowed_in(steps: int, per_thousand: float) -> float:
    """Return how many events a run of so many steps may have.

    Short ones as one of 1000.
    """
    return per_thousand * max(1.0, steps / _STEPS_OF_A_RATE)


def percentile(values: Sequence[float], name: str) -> float:
    """Return the percentile `p95`: the smallest value that so many do not exceed.

    Of fewer than 20 values p95 is the largest. Raises ValueError for another name.
    """
    share = float(name.removeprefix("p")) / _HUNDRED
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def medians_by_window(
    readings: Iterable[tuple[int, float]], window: int
) -> Mapping[int, float]:
    """Return the median of the values of each window of steps, by its number."""
    ordered = sorted(readings)
    return {
        number: median(value for _, value in rows)
        for number, rows in groupby(ordered, key=lambda numbers: numbers[0] // window)
    }
