"""What the iterations of one size say: their median, spread and slowest hundredth."""

import math
from collections.abc import Sequence

from speccheck.validator.evidence.record import Record


class Timing(Record):
    """Of one message; spread: quartiles apart, over the median."""

    seconds: float
    spread: float
    p99_seconds: float


def timing(iterations: Sequence[float]) -> Timing:
    """Return the timing of at least one iteration."""
    ordered = sorted(iterations)
    middle = quantile(ordered, 0.5)
    apart = quantile(ordered, 0.75) - quantile(ordered, 0.25)
    spread = apart / middle if middle > 0 else 0.0
    # The nearest rank: what was measured, not what lies between two of it.
    slowest = ordered[math.ceil(0.99 * len(ordered)) - 1]
    return Timing(middle, spread, slowest)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile, in proportion between the two nearest values."""
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def slowest_rank(by_rank: Sequence[Sequence[float]]) -> list[float]:
    """Return the time of the slowest rank in each iteration."""
    return [max(times) for times in zip(*by_rank, strict=True)]
