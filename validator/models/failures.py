"""How often jobs fail, what failures cost, and how many spare nodes they ask for.

Failures are taken as independent and memoryless, at a rate of one node of 8 GPUs. What
fleets count as a failure differs by a factor of five, so that their rates must not be
averaged: these three count interruptions of a job by its infrastructure.
"""

import math

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.durations import SECONDS_PER_DAY
from speccheck.validator.models.estimate import Estimate, exactly


class FailureRate(Record):
    """Failures of one node a day: the usual number and what fleets report."""

    usual: float
    low: float
    high: float
    source: str


NODE_FAILURES = FailureRate(
    usual=0.004,  # between Llama 3 (0.0038) and an H100 cluster of 4,088 GPUs (0.0043)
    low=0.0023,  # Meta RSC-2
    high=0.0065,  # Meta RSC-1
    source="node failures of Llama 3 (arXiv:2407.21783) and RSC (arXiv:2410.21680)",
)
FEWEST_NODES = 512
# RSC-1, measured over predicted: 3.65 at 1,024 GPUs, 3.2 at 8 (arXiv:2410.21680).
_SMALL_JOB_FACTOR = 4
_ROUNDING = 0.03  # of published rates and times, which have two digits
_VALID = (
    f"from {FEWEST_NODES} nodes on; in smaller jobs software and users cause most "
    f"failures, up to {_SMALL_JOB_FACTOR} times as many"
)


def mean_time_between_failures(
    nodes: int, rate: FailureRate = NODE_FAILURES
) -> Estimate:
    """Seconds between two failures of a job on so many nodes: M = 1 / (N r)."""
    usual, longest, shortest = (
        SECONDS_PER_DAY / (nodes * one) for one in (rate.usual, rate.low, rate.high)
    )
    shortest, longest = shortest * (1 - _ROUNDING), longest * (1 + _ROUNDING)
    if nodes >= FEWEST_NODES:
        return Estimate(usual, shortest, longest, "calibrated", rate.source, _VALID)
    shortest /= _SMALL_JOB_FACTOR
    return Estimate(usual, shortest, longest, "advisory", rate.source, _VALID)


def effective_time_ratio(
    nodes: int,
    failures_per_node_day: float,
    restart_seconds: float,
    interval_seconds: float,
    save_seconds: float,
) -> float:
    """The share of the run that trains: first order in failures, 0 at the least.

    (1 - N r (u + t / 2)) / (1 + w / t), arXiv:2410.21680.
    """
    lost_per_failure = (restart_seconds + interval_seconds / 2) / SECONDS_PER_DAY
    lost = nodes * failures_per_node_day * lost_per_failure
    return max(0.0, (1 - lost) / (1 + save_seconds / interval_seconds))


def hot_spares(mean_broken_nodes: float, quantile: float) -> Estimate:
    """The fewest spare nodes that suffice with the probability `quantile`.

    mean_broken_nodes: nodes x failures a node-day x days of repair, the mean of a
    Poisson distribution.
    """
    spares, covered = 0, math.exp(-mean_broken_nodes)
    while covered < quantile:
        spares += 1
        chance = spares * math.log(mean_broken_nodes) - mean_broken_nodes
        covered += math.exp(chance - math.lgamma(spares + 1))
    return exactly(spares, f"Poisson quantile {quantile:g}")
