"""Who is slower than its peers: medians, and distances that a few cannot distort.

A mean and a standard deviation follow the very nodes that are sought; the median and
the median absolute deviation (MAD) hold until half of the values are off. For values
of a normal distribution three MAD are two standard deviations, the distance at which
health scripts of the field name an outlier (a modified z-score of -2).
"""

from collections.abc import Sequence
from math import exp, lgamma, log
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
        """A value as a share of the median."""
        return value / self.median if self.median else 0.0

    def deviations_below(self, value: float) -> float | None:
        """How many MAD a value lies below the median; None where all are alike."""
        return (self.median - value) / self.deviation if self.deviation else None


def peers_of(values: Sequence[float], deviations: float, share: float) -> Peers:
    """What is usual among these, of which there must be one.

    Args:
        values: one of each peer.
        deviations: so many MAD are still noise.
        share: so large a share of the median is still noise: measurements that happen
            to agree within a thousandth would make an outlier of anything.

    """
    middle = median(values)
    deviation = median([abs(one - middle) for one in values])
    noise = max(deviations * deviation, share * abs(middle))
    return Peers(middle, deviation, middle - noise, middle + 2 * noise)


def at_least(hits: int, trials: int, chance: float) -> float:
    """The probability of so many hits or more in independent trials (binomial tail)."""
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
