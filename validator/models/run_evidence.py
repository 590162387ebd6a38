"""Arithmetic on what the log of a run tells: counters, rates, percentiles."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import median

_STEPS_OF_A_RATE = 1000
_HUNDRED = 100


def counted(values: Iterable[float]) -> float:
    """What a counter counted from its start on; one that falls has begun anew."""
    total, before = 0.0, 0.0
    for value in values:
        total += value - before if value >= before else value
        before = value
    return total


def grown(values: Iterable[float]) -> float:
    """What a counter counted between its first and its last reading."""
    read = list(values)
    return counted(read) - read[0] if read else 0.0


def allowed_in(steps: int, per_thousand: float) -> float:
    """How many events a run of so many steps may have; short ones as one of 1000."""
    return per_thousand * max(1.0, steps / _STEPS_OF_A_RATE)


def percentile(values: Sequence[float], name: str) -> float:
    """The percentile `p95`: the smallest value that so many do not exceed.

    Of fewer than 20 values p95 is the largest. Raises ValueError for another name.
    """
    share = float(name.removeprefix("p")) / _HUNDRED
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def medians_by_window(
    readings: Iterable[tuple[int, float]], window: int
) -> Mapping[int, float]:
    """The median of the values of each window of steps, by its number."""
    ordered = sorted(readings)
    return {
        number: median(value for _, value in rows)
        for number, rows in groupby(ordered, key=lambda one: one[0] // window)
    }
