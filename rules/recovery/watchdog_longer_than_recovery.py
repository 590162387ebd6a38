"""A collective timeout longer than the whole recovery may take.

Why it hurts: a lost GPU leaves its peers waiting in a collective. They notice only when
this timer ends; until then every GPU of the job stands still.

What passes: a steady-state timeout within the detection share of the recovery budget,
or twice the stated time of a save that blocks training. The timeout of the start-up may
be longer.

Where it does not apply: debug runs, one node. Where one rank writes all and nobody
states for how long, the default of PyTorch passes: a shorter one may end healthy jobs.

Source: pytorch ProcessGroupNCCL (600 s), huggingface ddp_timeout (1,800 s), torchtitan
comm.train_timeout_seconds (100 s).

Bad::

    [comm]
    train_timeout_seconds = 10800

Good::

    [comm]
    train_timeout_seconds = 60
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Checkpoint, Communication, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_SETTINGS = {
    "torchtitan": "comm.train_timeout_seconds = {0:g}",
    "transformers": "ddp_timeout: {0:g}",
    "axolotl": "ddp_timeout: {0:g}",
    "llamafactory": "ddp_timeout: {0:g}",
    "megatron-lm": "--distributed-timeout-seconds-after-init {0:g}",
}


class WatchdogLimit(Numbers):
    """The detection share of the recovery budget, and what blocking saves may ask."""

    watchdog_max: float  # seconds
    save_margin: float  # times the save
    gathered_max: float  # seconds


@rule(clause="FT-002")
def watchdog_longer_than_recovery(
    communication: Communication,
    checkpoint: Checkpoint,
    run: Run,
    stated: StatedKeys,
    limit: WatchdogLimit,
) -> Verdicts:
    """Judge the steady-state collective timeout."""
    if run.role.value == "debug":
        return
    timeout = communication.timeout_seconds
    seconds = timeout.need()
    allowed = max(limit.watchdog_max, _for_saves(checkpoint, limit))
    if seconds <= allowed:
        yield passed(at=timeout, measured=seconds, required=allowed)
        return
    setting = _SETTINGS.get(run.framework.or_else(""), "a timeout of {0:g} s")
    saves = " beside its saves" if allowed > limit.watchdog_max else ""
    yield fail(
        f"a lost GPU is noticed after up to {seconds:,.0f} s; at most {allowed:g} s "
        f"may go to that{saves}",
        at=timeout,
        measured=seconds,
        required=allowed,
        cost=f"every GPU of the job stands still for up to {seconds:,.0f} s at each "
        f"failure",
        remedy=f"Set {setting.format(allowed)}, with asynchronous or sharded saves, "
        f"so that no save blocks for longer.",
        fix=rewritten(timeout, int(allowed), stated),
    )


def _for_saves(checkpoint: Checkpoint, limit: WatchdogLimit) -> float:
    """The timeout that saves which block training may ask for."""
    if checkpoint.enabled.value is False or checkpoint.asynchronous.value is True:
        return 0
    if checkpoint.save_seconds.is_known:
        return limit.save_margin * checkpoint.save_seconds.need()
    return limit.gathered_max if checkpoint.format.value == "full" else 0
