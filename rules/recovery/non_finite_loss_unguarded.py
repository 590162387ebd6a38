"""The guard against a loss that is no number is off.

Why it hurts: one corrupted gradient makes every weight NaN. The run goes on for days,
and its checkpoints overwrite the last good ones.

What passes: a guard against non-finite values and one against sustained spikes.

Where it does not apply: adapters, reinforcement learning and debug runs (the clause
asks for full training). Where only the first guard is known, the clause stays unknown.

Source: NVIDIA/Megatron-LM megatron/training/config/resilience_config.py; ByteRobust
reports NaN values in 0.3 percent of its incidents.

Bad::

    --no-check-for-nan-in-loss-and-grad

Good::

    --check-for-spiky-loss
"""

from speccheck.validator.evidence.plan import Recovery
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="FT-011", needs=("recovery.non_finite_guard",))
def non_finite_loss_unguarded(recovery: Recovery) -> Verdicts:
    """Judge the guard against non-finite values, then that against spikes."""
    guard, spikes = recovery.non_finite_guard, recovery.spike_guard
    if not guard.need():
        yield fail(
            "training goes on when the loss or a gradient is not finite; it must stop, "
            "skip or repeat the step",
            at=guard,
            measured="off",
            required="on",
            cost="a corrupted model trains for days and overwrites good checkpoints",
        )
        return
    if spikes.value is True:
        yield passed(at=[guard, spikes])
        return
    yield unknown(
        "non-finite values are guarded against; whether sustained spikes are is not "
        "known",
        missing=[spikes.name],
        at=guard,
    )
