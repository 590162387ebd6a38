"""A one-bit optimizer together with ZeRO.

Why it hurts: one-bit Adam, one-bit LAMB and 0/1 Adam exchange compressed momentum
themselves. DeepSpeed asserts that no ZeRO stage is active beside them.

What passes: stage 0, or another optimizer.

Where it does not apply: other optimizers.

Source: deepspeedai/DeepSpeed runtime/engine.py (_configure_basic_optimizer).

Bad::

    "optimizer": {"type": "OneBitAdam"}, "zero_optimization": {"stage": 1}

Good::

    "optimizer": {"type": "OneBitAdam"}, "zero_optimization": {"stage": 0}
"""

from speccheck.validator.evidence.plan import Optimizer, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ONE_BIT = frozenset({"onebitadam", "onebitlamb", "zerooneadam"})


@rule(clause="CONF-010", about=("optimizer.name_of_optimizer",))
def one_bit_optimizer_with_zero(
    optimizer: Optimizer, parallelism: Parallelism
) -> Verdicts:
    """Judge the ZeRO stage beside a one-bit optimizer."""
    name, stage = optimizer.name_of_optimizer, parallelism.sharding_stage
    if name.or_else("").lower().replace("_", "") not in _ONE_BIT or not stage.is_known:
        return
    at = [name, stage]
    if stage.need() == 0:
        yield passed(at=at)
        return
    yield fail(
        f"{name.need()} does not run with ZeRO stage {stage.need()}; DeepSpeed asserts "
        f"stage 0",
        at=at,
        measured=stage.need(),
        required=0,
        cost="DeepSpeed stops with an assertion at start-up",
        remedy='Set "stage": 0, or use Adam.',
    )
