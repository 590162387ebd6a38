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

from speccheck.rules.precision._capability import capability
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Cluster, Precision
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Modes(Numbers):
    """How many 16-bit modes may be on, and which GPUs have both."""

    max_modes: int
    bf16_cc: float


@rule(clause="PREC-002")
def two_half_precision_modes(
    precision: Precision, cluster: Cluster, stated: StatedKeys, limit: Modes
) -> Verdicts:
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
        fix=_fix(precision, cluster, stated, limit),
    )


def _is_off(switch: Value[bool]) -> bool:
    """Return whether the mode is off; a text such as `auto` leaves that open."""
    return switch.value is False or (not switch.is_known and not switch.places)


def _fix(
    precision: Precision, cluster: Cluster, stated: StatedKeys, limit: Modes
) -> Fix | None:
    """Propose to switch off the mode that the GPU does not want, if it is known."""
    if not cluster.compute_capability.is_known:
        return None
    generation = cluster.compute_capability.need()
    has_bf16 = generation >= capability(limit.bf16_cc)
    return switched(precision.fp16 if has_bf16 else precision.bf16, stated, on=False)
