"""Who is slower than its peers: medians, and distances that a few cannot distort.

A mean and a standard deviation follow the very nodes that are sought; the median and
the median absolute deviation (MAD) hold until half of the values are off. For values
of a normal distribution three MAD are two standard deviations, the distance at which
health scripts of the field name an outlier (a modified z-score of -2).
"""

from collections.abc import Sequence
from math import erfc, exp, lgamma, log, sqrt
from statistics import median

from speccheck.validator.evidence.record import Record


class Peers(Record):
    """What is usual among peers, in the unit of their values.

    deviation: the MAD. least: below it a value is worse than noise. most: twice as far
    above the median, where no noise reaches: peers that are there are of another kind.
    """

    median: float
    deviation: float
    least: float
    most: float

    def share(self, value: float) -> float:
        """Return a value as a share of the median."""
        return value / self.median if self.median else 0.0

    def deviations_below(self, value: float) -> float | None:
        """Return how many MAD a value lies below the median.

        None where all are alike.
        """
        return (self.median - value) / self.deviation if self.deviation else None


def peers_of(values: Sequence[float], deviations: float, share: float) -> Peers:
    """Return what is usual among these; there must be at least one value.

    Args:
        values: one of each peer.
        deviations: so many MAD are still noise.
        share: so large a share of the median is still noise: measurements that happen
            to agree within a thousandth would make an outlier of anything.

    """
    middle = median(values)
    deviation = median([abs(value - middle) for value in values])
    noise = max(deviations * deviation, share * abs(middle))
    return Peers(middle, deviation, middle - noise, middle + 2 * noise)


class Distance(Record):
    """How far from the median a value may lie, in its unit.

    deviation: what the standard deviation would be, if few values are off.
    """

    median: float
    deviation: float
    most: float

    def is_beyond(self, value: float, *, is_high_worse: bool) -> bool:
        """Return whether it lies further on the worse side than any noise."""
        off = value - self.median
        return (off if is_high_worse else -off) > self.most


def distance_of(
    values: Sequence[float], deviations: float, scale: float, floor: float, share: float
) -> Distance:
    """Return how far values may lie from the median of them all.

    Of a normal distribution, the share of values beyond k standard deviations on one
    side is `tail(k)`. Where more than half of the values are equal the deviation is
    zero, and floor and share count alone.

    Args:
        values: of all peers, at least one.
        deviations: so many standard deviations are still noise.
        scale: of a median absolute deviation to a standard deviation.
        floor: so much, in the unit of the values, is noise.
        share: so large a share of the median is noise.

    """
    ordered = sorted(values)
    middle = _middle(ordered)
    # Falling, then rising: two runs, which sorting merges in one go.
    deviation = scale * _middle(sorted([abs(value - middle) for value in ordered]))
    most = max(deviations * deviation, floor, share * abs(middle))
    return Distance(middle, deviation, most)


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def tail(deviations: float) -> float:
    """Return the share of a normal distribution beyond so many standard deviations."""
    return erfc(deviations / sqrt(2)) / 2


def at_least(hits: int, trials: int, chance: float) -> float:
    """Return the probability of so many hits or more in independent trials."""
    if hits <= 0:
        return 1.0
    if hits > trials or chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    return min(1.0, sum(_exactly(k, trials, chance) for k in range(hits, trials + 1)))


def _exactly(hits: int, trials: int, chance: float) -> float:
    ways = lgamma(trials + 1) - lgamma(hits + 1) - lgamma(trials - hits + 1)
    return exp(ways + hits * log(chance) + (trials - hits) * log(1 - chance))
