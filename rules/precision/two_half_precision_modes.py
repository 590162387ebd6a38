"""bf16 and fp16 both switched on.

Why it hurts: the two need different treatment: fp16 a loss scaler, bf16 none.
Frameworks refuse both at once; where one silently wins, the scaler guards the wrong
one.

What passes: one of them, or neither. A mode that no file mentions is off: frameworks
that choose one by themselves choose the other one's opposite.

Where it does not apply: always applies.

Source: DeepSpeed runtime/config.py; transformers training_args.py; NVIDIA/Megatron-LM
megatron/training/arguments.py (validate_args).

Bad::

    "bf16": {"enabled": true},
    "fp16": {"enabled": true}

Good::

    "bf16": {"enabled": true},
    "fp16": {"enabled": false}
"""

from speccheck.validator.evidence.plan import Precision
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Modes(Numbers):
    """How many 16-bit modes may be on."""

    max_modes: int


@rule(clause="PREC-002")
def two_half_precision_modes(precision: Precision, limit: Modes) -> Verdicts:
    """Judge the two switches; one that is off or not mentioned settles it."""
    switches = (precision.bf16, precision.fp16)
    on = [switch for switch in switches if switch.value]
    if any(_is_off(switch) for switch in switches):
        yield passed(at=switches, measured=len(on), required=limit.max_modes)
        return
    for switch in switches:
        switch.need()
    yield fail(
        f"bf16 and fp16 are both on: {len(on)} 16-bit modes, at most {limit.max_modes} "
        "may be",
        at=switches,
        measured=len(on),
        required=limit.max_modes,
        cost="the framework stops at start-up, or one of them silently wins",
        remedy="Keep bf16 on GPUs from Ampere on, fp16 on older ones; turn the other "
        "off.",
    )


def _is_off(switch: Value[bool]) -> bool:
    """Whether the mode is off; a text such as `auto` leaves that open."""
    return switch.value is False or (not switch.is_known and not switch.places)
