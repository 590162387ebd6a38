"""What the phases of a recovery take where a plan does not say: defaults and readings.

A phase that nobody has measured is an interval from the best case, a crashed process
whose launcher sees it at once, to the worst that software in its default setting
allows. fixtures/ground_truth/recovery_defaults.csv holds the same rows.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly


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
    """Seconds until a fault is noticed: a hang when the watchdog ends, a crash at once.

    The value is the budget that the plan gives to it, which is all of the watchdog.
    """
    soonest = min(DEFAULTS["torchelastic-monitor"].seconds, watchdog_seconds)
    return exactly(watchdog_seconds, source)._replace(lower=soonest)


def default_detection() -> Estimate:
    """The same for a job on PyTorch whose framework is not known."""
    usual, longest = DEFAULTS["pg-nccl"], DEFAULTS["pg-other"]
    found = detection(usual.seconds, usual.source)
    return found._replace(upper=longest.seconds, kind="advisory")


def abort_of_torch() -> Estimate:
    """Seconds from the end of the watchdog until the process of PyTorch has ended."""
    wait = DEFAULTS["nccl-dump-wait"]
    longest = wait.seconds * _DUMP_WAITS
    return Estimate(longest, 0, longest, "advisory", wait.source)


def initialization(ranks: int, longest_seconds: float | None) -> Estimate:
    """Seconds of rendezvous and communicator set-up.

    longest_seconds: the time after which the plan gives up, if it says so.
    """
    after, before = DEFAULTS["nccl-init-2048-after"], DEFAULTS["nccl-init-2048-before"]
    usual = after.seconds if ranks <= _LARGE_JOB_RANKS else _LARGE_JOB_INITIALIZATION
    upper = before.seconds if longest_seconds is None else longest_seconds
    return Estimate(min(usual, upper), 0, upper, "advisory", after.source)
