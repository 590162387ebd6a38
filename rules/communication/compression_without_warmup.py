"""Lossy gradient compression without uncompressed steps first.

Why it hurts: error feedback and the frozen variance of one-bit Adam need statistics of
the first steps. Compressed from the start, the run converges worse or diverges.

What passes: at least the clause's number of uncompressed steps.

Where it does not apply: gradients are not compressed.

Source: DeepSpeed one-bit Adam tutorial (freeze_step); PyTorch DDP communication hooks.

Bad::

    "optimizer": {"type": "OneBitAdam", "params": {"freeze_step": 0}}

Good::

    "optimizer": {"type": "OneBitAdam", "params": {"freeze_step": 23000}}
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Communication
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class WarmupLimit(Numbers):
    """The least number of uncompressed steps."""

    min_warmup_steps: int


@rule(clause="COMM-009")
def compression_without_warmup(
    communication: Communication, stated: StatedKeys, limit: WarmupLimit
) -> Verdicts:
    """Judge the uncompressed steps before compression starts."""
    method, warmup = communication.compression, communication.compression_warmup_steps
    name, steps = method.need(), warmup.need()
    at = [warmup, method]
    if steps >= limit.min_warmup_steps:
        yield passed(at=at, measured=steps, required=limit.min_warmup_steps)
        return
    yield fail(
        f"{name} compresses from step {steps}; at least {limit.min_warmup_steps} steps "
        f"must run uncompressed",
        at=at,
        measured=steps,
        required=limit.min_warmup_steps,
        cost="the run converges to a worse loss, or diverges",
        fix=rewritten(warmup, limit.min_warmup_steps, stated),
    )
