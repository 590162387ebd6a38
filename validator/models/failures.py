"""How often jobs fail, what failures cost, and how many spare nodes they ask for.

Failures are taken as independent and memoryless, at a rate of one node of 8 GPUs. What
fleets count as a failure differs by a factor of five, so that their rates must not be
averaged: these three count interruptions of a job by its infrastructure.
"""

import math

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly
from speccheck.validator.models.units import SECONDS_PER_DAY


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
    """Return seconds between two failures of a job on so many nodes: M = 1 / (N r)."""
    usual, longest, shortest = (
        SECONDS_PER_DAY / (nodes * value) for value in (rate.usual, rate.low, rate.high)
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
    """Return the share of the run that trains: first order in failures, 0 at the least.

    (1 - N r (u + t / 2)) / (1 + w / t), arXiv:2410.21680.
    """
    lost_per_failure = (restart_seconds + interval_seconds / 2) / SECONDS_PER_DAY
    lost = nodes * failures_per_node_day * lost_per_failure
    return max(0.0, (1 - lost) / (1 + save_seconds / interval_seconds))


def hot_spares(mean_broken_nodes: float, quantile: float) -> Estimate:
    """Return the fewest spare nodes that suffice with the probability `quantile`.

    mean_broken_nodes: nodes x failures a node-day x days of repair, the mean of a
    Poisson distribution.
    """
    spares, covered = 0, math.exp(-mean_broken_nodes)
    while covered < quantile:
        spares += 1
        chance = spares * math.log(mean_broken_nodes) - mean_broken_nodes
        covered += math.exp(chance - math.lgamma(spares + 1))
    return exactly(spares, f"Poisson quantile {quantile:g}")


class Default(Record):
    """A time that some software takes or waits unless it is told otherwise."""

    seconds: float
    source: str


DEFAULTS: dict[str, Default] = {
    "pg-nccl": Default(600, "PyTorch process group timeout, NCCL (pull 110947)"),
    "pg-other": Default(1800, "PyTorch process group timeout, other backends"),
    "torchelastic-monitor": Default(0.1, "torchrun --monitor-interval"),
    "torchelastic-rdzv": Default(600, "torchrun rendezvous join timeout"),
    "nccl-dump-wait": Default(15, "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC of PyTorch"),
    "nccl-init-2048-before": Default(1047, "group initialisation (arXiv:2402.15627)"),
    "nccl-init-2048-after": Default(5, "group initialisation (arXiv:2402.15627)"),
}
# ProcessGroupNCCL.cpp, watchdog: "let all ranks universally sleep" for four times the
# dump wait before the exception is thrown (main branch of 2026); older ones wait less.
_DUMP_WAITS = 4
_LARGE_JOB_RANKS = 10_000
_LARGE_JOB_INITIALIZATION = 30  # below 30 s on more than 10,000 GPUs, arXiv:2402.15627


def detection(watchdog_seconds: float, source: str) -> Estimate:
    """Return the seconds until the loss of a GPU is noticed.

    A process that dies is noticed by its launcher, which looks every moment. Only a
    hang, in which every process lives, lasts until the watchdog ends: the upper bound.
    """
    soonest = min(DEFAULTS["torchelastic-monitor"].seconds, watchdog_seconds)
    estimate = exactly(soonest, source)
    return estimate._replace(upper=watchdog_seconds, kind="advisory")


def default_detection() -> Estimate:
    """Return the same for a job on PyTorch whose framework is not known."""
    usual, longest = DEFAULTS["pg-nccl"], DEFAULTS["pg-other"]
    estimate = detection(usual.seconds, usual.source)
    return estimate._replace(upper=longest.seconds, kind="advisory")


def abort_of_torch() -> Estimate:
    """Return seconds from the end of the watchdog until PyTorch's process has ended."""
    wait = DEFAULTS["nccl-dump-wait"]
    longest = wait.seconds * _DUMP_WAITS
    return Estimate(longest, 0, longest, "advisory", wait.source)


def initialization(ranks: int, longest_seconds: float | None) -> Estimate:
    """Return the seconds of rendezvous and communicator set-up.

    longest_seconds: the time after which the plan gives up, if it says so.
    """
    after, before = DEFAULTS["nccl-init-2048-after"], DEFAULTS["nccl-init-2048-before"]
    usual = after.seconds if ranks <= _LARGE_JOB_RANKS else _LARGE_JOB_INITIALIZATION
    upper = before.seconds if longest_seconds is None else longest_seconds
    return Estimate(min(usual, upper), 0, upper, "advisory", after.source)
