"""DeepSpeed's own expert layers under ZeRO stage 3.

Why it hurts: the expert layers of Megatron-DeepSpeed are sharded over their own group,
which stage 3 does not know. The engine asserts that they do not meet.

What passes: expert layers with stage 0, 1 or 2.

Where it does not apply: dense models; Megatron-LM without DeepSpeed; models whose
experts are none of DeepSpeed's.

Source: DeepSpeed runtime/engine.py (_configure_zero_optimizer, "MoE not supported with
Stage 3"; _validate_zero3_moe_compatibility from 0.19 on).

Bad::

    --deepspeed --num-experts 64 --zero-stage 3

Good::

    --deepspeed --num-experts 64 --zero-stage 2
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.models.training_memory import WEIGHT_STAGE
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", frameworks=("megatron-lm",), about=("model.experts",))
def expert_layers_under_weight_sharding(
    model: Model, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the stage where DeepSpeed runs expert layers."""
    experts, stage = model.experts, parallelism.sharding_stage
    if parallelism.engine.value != "deepspeed" or experts.or_else(1) <= 1:
        return
    if stage.need() < WEIGHT_STAGE:
        yield passed(at=[stage, experts], measured=stage.value)
        return
    yield fail(
        f"{experts.value} experts run under ZeRO stage {stage.value}; DeepSpeed's "
        f"expert layers take a stage below {WEIGHT_STAGE}",
        at=[stage, experts],
        measured=stage.value,
        required=WEIGHT_STAGE - 1,
        cost="DeepSpeed asserts when the engine starts, on allocated nodes",
        remedy="Set the ZeRO stage to 2 or 1.",
        fix=rewritten(stage, WEIGHT_STAGE - 1, stated),
    )
