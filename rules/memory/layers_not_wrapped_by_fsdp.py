"""FSDP that wraps the whole model as one unit.

Why it hurts: FSDP gathers the weights of a unit before it computes. Where no layer is a
unit of its own, each rank gathers all weights at once and holds them, with their
gradients, for the whole step: weights are sharded in name only.

What passes: a policy that wraps layers, or parts of a size.

Where it does not apply: weights that are not sharded; launchers whose policy is not
known.

Source: huggingface/accelerate utils/dataclasses.py (FullyShardedDataParallelPlugin:
NO_WRAP where FSDP_AUTO_WRAP_POLICY is not set).

Bad::

    distributed_type: FSDP
    fsdp_config:
      fsdp_sharding_strategy: FULL_SHARD

Good::

    distributed_type: FSDP
    fsdp_config:
      fsdp_sharding_strategy: FULL_SHARD
      fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
"""

from speccheck.validator.evidence.plan import Parallelism
from speccheck.validator.models.training_memory import WEIGHT_STAGE
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-033", confidence="advisory", about=("parallelism.wrap_policy",))
def layers_not_wrapped_by_fsdp(parallelism: Parallelism) -> Verdicts:
    """Judge the policy where weights are sharded."""
    policy, stage = parallelism.wrap_policy, parallelism.sharding_stage
    if not (parallelism.engine.value or "").startswith("fsdp"):
        return
    if not policy.is_known or stage.need() != WEIGHT_STAGE:
        return
    if policy.need() != "none":
        yield passed(at=policy, measured=policy.need())
        return
    yield fail(
        "FSDP shards the weights and wraps no layer of its own: the whole model is one "
        "unit, which each rank gathers at once",
        at=[policy, parallelism.engine],
        measured="none",
        required="layers",
        cost="each rank holds all weights and gradients while it computes",
    )
