"""A collective timeout longer than the whole recovery may take.

Why it hurts: a lost GPU leaves its peers waiting in a collective. They notice only when
this timer ends; until then every GPU of the job stands still.

What passes: a steady-state timeout within the detection share of the recovery budget.
The timeout of the start-up may be longer.

Where it does not apply: one node. A timeout below the time of a blocking save would end
healthy jobs: shorten it together with asynchronous or sharded saves.

Source: pytorch ProcessGroupNCCL (600 s), huggingface ddp_timeout (1,800 s), torchtitan
comm.train_timeout_seconds (100 s).

Bad::

    [comm]
    train_timeout_seconds = 10800

Good::

    [comm]
    train_timeout_seconds = 60
"""

from speccheck.validator.evidence.plan import Communication, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_SETTINGS = {
    "torchtitan": "comm.train_timeout_seconds = {0:g}",
    "transformers": "ddp_timeout: {0:g}",
    "axolotl": "ddp_timeout: {0:g}",
    "llamafactory": "ddp_timeout: {0:g}",
    "megatron-lm": "--distributed-timeout-seconds-after-init {0:g}",
}


class WatchdogLimit(Numbers):
    """The detection share of the recovery budget."""

    watchdog_max: float  # seconds


@rule(clause="FT-002")
def watchdog_longer_than_recovery(
    communication: Communication, run: Run, limit: WatchdogLimit
) -> Verdicts:
    """Judge the steady-state collective timeout."""
    timeout = communication.timeout_seconds
    seconds = timeout.need()
    if seconds <= limit.watchdog_max:
        yield passed(at=timeout, measured=seconds, required=limit.watchdog_max)
        return
    setting = _SETTINGS.get(run.framework.or_else(""), "a timeout of {0:g} s")
    yield fail(
        f"a lost GPU is noticed after up to {seconds:,.0f} s; at most "
        f"{limit.watchdog_max:g} s of the recovery budget may go to that",
        at=timeout,
        measured=seconds,
        required=limit.watchdog_max,
        cost=f"every GPU of the job stands still for up to {seconds:,.0f} s at each "
        f"failure",
        remedy=f"Set {setting.format(limit.watchdog_max)}, with asynchronous or "
        f"sharded saves, so that no save blocks for longer.",
    )
