"""fp16 training with a fixed loss scale.

Why it hurts: gradients change by orders of magnitude over a run. A fixed scale
overflows when they grow and loses the small ones when they shrink, without a crash.

What passes: dynamic scaling: loss_scale 0 in DeepSpeed, no --loss-scale in
Megatron-LM.

Where it does not apply: formats other than fp16.

Source: DeepSpeed runtime/precision_config.py; deepspeedai/DeepSpeed issues 697, 1356.

Bad::

    "fp16": {"enabled": true, "loss_scale": 1024}

Good::

    "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 16}
"""

from speccheck.validator.evidence.mending import place_of, rewritten
from speccheck.validator.evidence.plan import Precision
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class DynamicScale(Numbers):
    """Where dynamic scaling starts."""

    initial_power: int


_OF_DEEPSPEED = "fp16.loss_scale"  # 0 asks for dynamic scaling


@rule(clause="PREC-004", confidence="calibrated")
def fp16_with_static_loss_scale(
    precision: Precision, stated: StatedKeys, usual: DynamicScale
) -> Verdicts:
    """Judge the scale; 0 means dynamic."""
    scale = precision.loss_scale
    value = scale.need()
    if value == 0:
        yield passed(at=scale, measured=value)
        return
    if value < 0:
        return  # judged as a setting out of range
    yield fail(
        f"the loss scale is fixed at {value:,.0f}",
        at=scale,
        measured=value,
        required=0,
        cost="gradients overflow or vanish as their size changes over the run",
        remedy=f"Set loss_scale to 0 and initial_scale_power to {usual.initial_power}.",
        fix=rewritten(scale, 0, stated) if place_of(scale, _OF_DEEPSPEED) else None,
    )
