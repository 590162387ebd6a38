"""A heartbeat limit below the time of a step.

Why it hurts: a healthy rank beats once a step. When it may be silent for less than
that, the guard kills the job again and again.

What passes: a limit above the step time.

Where it does not apply: no heartbeat, or a step time that is not known.

Source: NVIDIA/Megatron-LM in-process restart and fault-tolerance settings.

Bad::

    recovery: {heartbeat_seconds: 30}
    run: {step_seconds: 45}

Good::

    recovery: {heartbeat_seconds: 120}
    run: {step_seconds: 45}
"""

from math import ceil

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Recovery, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("recovery.heartbeat_seconds",))
def heartbeat_shorter_than_step(
    recovery: Recovery, run: Run, stated: StatedKeys
) -> Verdicts:
    """Judge the heartbeat against the step."""
    heartbeat, step = recovery.heartbeat_seconds, run.step_seconds
    if not heartbeat.is_known or not step.is_known:
        return
    limit, seconds = heartbeat.need(), step.need()
    at = [heartbeat, step]
    if limit > seconds:
        yield passed(at=at, measured=limit, required=seconds)
        return
    yield fail(
        f"a rank may be silent for {limit:g} s, but a healthy step takes {seconds:g} s",
        at=at,
        measured=limit,
        required=seconds,
        cost="the guard kills the healthy job at its first step",
        remedy=f"Allow at least two steps, {2 * seconds:g} s.",
        fix=rewritten(heartbeat, ceil(2 * seconds), stated),
    )
