"""Hybrid sharding with a group that does not divide the data-parallel ranks.

Why it hurts: hybrid sharding (HSDP, MiCS, several optimizer instances) cuts the
data-parallel ranks into equal groups. A size that does not divide them leaves a group
short, and the device mesh is refused.

What passes: a group size or a number of replicas that divides the data-parallel ranks.

Where it does not apply: no hybrid sharding; plans that state replicas and shards both.

Source: OLMo scripts/train.py (hybrid sharding device mesh); DeepSpeed
runtime/zero/mics.py; NVIDIA/Megatron-LM megatron/core/parallel_state.py.

Bad::

    "zero_optimization": {"stage": 3, "mics_shard_size": 12}    # 32 GPUs

Good::

    "zero_optimization": {"stage": 3, "mics_shard_size": 8}
"""

from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("parallelism.replicate_size", "parallelism.shard_size"))
def hybrid_groups_do_not_divide_world(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge the one side of a hybrid group that is stated."""
    replicate, shard = parallelism.replicate_size, parallelism.shard_size
    if replicate.is_known and shard.is_known:
        return
    group = shard if shard.is_known else replicate
    size = group.or_else(1)
    if size <= 1:
        return
    name = "shards" if shard.is_known else "replicas"
    world_size = cluster.world_size.need()
    if world_size % size:
        total, whole = world_size, "GPUs"
    else:
        ranks = parallelism.data_parallel_size.need()
        total = ranks * parallelism.context_parallel_size.or_else(1)
        whole = "data-parallel ranks"
    if total % size == 0:
        yield passed(at=[group, cluster.world_size], measured=size, required=total)
        return
    yield fail(
        f"{size:,} {name} do not divide the {total:,} {whole}: "
        f"{total:,} / {size:,} leaves {total % size:,}",
        at=[group, cluster.world_size],
        measured=size,
        required=total,
        cost="the device mesh of the groups is refused at start-up",
        remedy=f"Choose a number of {name} that divides {total:,}.",
    )
