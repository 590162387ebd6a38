"""No clipping of gradients in a pretraining run.

Why it hurts: one bad batch gives a gradient of a thousand times the usual norm, and a
single step with it destroys days of optimizer state.

What passes: a clipping norm above the clause's lower bound and up to its upper one.

Where it does not apply: fine-tuning, which is repeated in hours; plans of which neither
a norm nor the default of the framework is known.

Source: deepspeedai/DeepSpeed runtime/config.py (gradient_clipping, default 0 before
0.19); huggingface/transformers training_args.py (max_grad_norm, default 1).

Bad::

    "gradient_clipping": 0.0

Good::

    "gradient_clipping": 1.0
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Optimizer, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_PRETRAINING = frozenset({"pretrain", "continued"})


class ClipRange(Numbers):
    """The norms between which gradients are clipped."""

    clip_min: float
    clip_max: float


@rule(clause="PREC-008", confidence="advisory")
def gradient_clipping_off(
    optimizer: Optimizer, run: Run, stated: StatedKeys, limit: ClipRange
) -> Verdicts:
    """Judge the norm at which gradients are clipped."""
    if run.role.value not in _PRETRAINING:
        return
    clip = optimizer.clip_norm
    norm = clip.need()
    if limit.clip_min < norm <= limit.clip_max:
        yield passed(at=clip, measured=norm, required=limit.clip_max)
        return
    text = f"gradients are clipped at {norm:g}" if norm else "gradients are not clipped"
    yield fail(
        f"{text}; pretraining needs a norm of at most {limit.clip_max:g}",
        at=clip,
        measured=norm,
        required=limit.clip_max,
        cost="one bad batch can destroy days of optimizer state",
        remedy=f"Clip at {limit.clip_max:g}.",
        fix=rewritten(clip, limit.clip_max, stated),
    )
