"""Weights kept in bf16 alone under ZeRO stage 3 in LLaMA-Factory.

Why it hurts: `pure_bf16` drops the copy of the weights in fp32 that ZeRO-3 keeps and
shards. The argument parser refuses the pair, after the allocation has been granted.

What passes: `bf16: true` under ZeRO-3, or `pure_bf16` below stage 3.

Where it does not apply: mixed precision; engines other than DeepSpeed, and other
frameworks.

Source: LLaMA-Factory src/llamafactory/hparams/parser.py (get_train_args).

Bad::

    pure_bf16: true
    deepspeed: ds_z3_config.json

Good::

    bf16: true
    deepspeed: ds_z3_config.json
"""

from speccheck.validator.evidence.finding import Fix, to_rename
from speccheck.validator.evidence.mending import combined
from speccheck.validator.evidence.plan import Parallelism, Precision
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.models.training_memory import WEIGHT_STAGE
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006", frameworks=("llamafactory",))
def pure_bf16_with_weight_sharding(
    parallelism: Parallelism, precision: Precision, stated: StatedKeys
) -> Verdicts:
    """Judge the stage where no copy of the weights in fp32 is kept."""
    states = precision.optimizer_state_dtype
    if states.value != "bf16" or parallelism.engine.value != "deepspeed":
        return
    stage = parallelism.sharding_stage.need()
    at = [states, parallelism.sharding_stage]
    if stage < WEIGHT_STAGE:
        yield passed(at=at, measured=stage)
        return
    yield fail(
        f"pure_bf16 keeps no weights in fp32, and ZeRO stage {stage} shards them",
        at=at,
        measured=stage,
        required=WEIGHT_STAGE - 1,
        cost="LLaMA-Factory refuses its arguments at start-up",
        remedy="Set bf16: true in place of pure_bf16, or use ZeRO stage 2.",
        fix=_fix(stated),
    )


def _fix(stated: StatedKeys) -> Fix | None:
    """Propose bf16 with weights in fp32, unless that switch is stated already."""
    keys = [
        key
        for file in stated.files
        if file.format == "llamafactory"
        for key in file.keys
        if key.path in {("pure_bf16",), ("bf16",)}
    ]
    if len(keys) != 1 or keys[0].value is not True:
        return None
    return combined("rename pure_bf16 to bf16", [to_rename(keys[0].place, "bf16")])
