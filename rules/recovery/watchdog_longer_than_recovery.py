"""A timeout of training steps that lets a hang last longer than it need.

Why it hurts: a collective that never ends holds every GPU of the job until this timer
does. It bounds hangs only: a process that dies is noticed by its launcher within
seconds.

What passes: a timeout of the steady state within the limit, or twice the stated time of
a save that blocks training. The timeout of the start-up may be longer.

Where it does not apply: debug runs, one node, and frameworks with one timeout for all:
there it must outlast tokenising on rank 0, compilation and saves as well. Where one
rank writes all and nobody states for how long, the default of PyTorch passes.

Source: Megatron-LM --distributed-timeout-seconds-after-init and torchtitan
comm.train_timeout_seconds (100 s) are set after the start-up; Hugging Face ddp_timeout
(1,800 s) holds for all.

Bad::

    [comm]
    train_timeout_seconds = 10800

Good::

    [comm]
    train_timeout_seconds = 100
"""

from speccheck.validator.evidence.plan import Checkpoint, Communication, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

# Frameworks that know a timeout for training apart from that of the start-up.
_OWN_FOR_STEPS = ("megatron-lm", "megatron-bridge", "torchtitan", "native")


class WatchdogLimit(Numbers):
    """How long a hang may last, and what blocking saves may ask."""

    watchdog_max: float  # seconds
    save_margin: float  # times the save
    gathered_max: float  # seconds


@rule(clause="FT-002", frameworks=_OWN_FOR_STEPS)
def watchdog_longer_than_recovery(
    communication: Communication,
    checkpoint: Checkpoint,
    run: Run,
    limit: WatchdogLimit,
) -> Verdicts:
    """Judge the collective timeout of training steps."""
    if run.role.value == "debug":
        return
    timeout = communication.timeout_seconds
    seconds = timeout.need()
    allowed = max(limit.watchdog_max, _for_saves(checkpoint, limit))
    if seconds <= allowed:
        yield passed(at=timeout, measured=seconds, required=allowed)
        return
    saves = " with its saves" if allowed > limit.watchdog_max else ""
    yield fail(
        f"a hang in training lasts up to {seconds:,.0f} s before the job ends; "
        f"{allowed:,.0f} s are enough{saves}",
        at=timeout,
        measured=seconds,
        required=allowed,
        cost=f"every GPU of the job stands still for up to {seconds:,.0f} s at each "
        f"hang",
    )


def _for_saves(checkpoint: Checkpoint, limit: WatchdogLimit) -> float:
    """Return the timeout that saves which block training may ask for."""
    if checkpoint.enabled.value is False or checkpoint.asynchronous.value is True:
        return 0
    if checkpoint.save_seconds.is_known:
        return limit.save_margin * checkpoint.save_seconds.need()
    return limit.gathered_max if checkpoint.format.value == "full" else 0
