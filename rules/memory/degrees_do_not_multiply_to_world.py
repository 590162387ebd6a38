"""Stated replicas, shards and model-parallel degrees do not multiply to the world size.

Why it hurts: torchtitan and accelerate build one device mesh over all ranks. When the
product of its sides is not the number of GPUs, the run stops at start-up.

What passes: replicas x shards x tensor x pipeline x context equal to the world size. A
shard degree of -1 fills the mesh and passes when the rest divides the world size.

Where it does not apply: frameworks that derive data parallelism from the world size.

Source: torchtitan torchtitan/distributed/parallel_dims.py (ParallelDims._validate);
accelerate parallelism_config.py.

Bad::

    # 16 nodes x 8 GPUs
    [parallelism]
    data_parallel_replicate_degree = 4
    data_parallel_shard_degree = 8
    tensor_parallel_degree = 8

Good::

    [parallelism]
    data_parallel_replicate_degree = 2
    data_parallel_shard_degree = 8
    tensor_parallel_degree = 8
"""

from speccheck.rules.memory._degrees import (
    as_text,
    known,
    model_parallel,
    product,
    values,
)
from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005")
def degrees_do_not_multiply_to_world(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge the product of all sides of the mesh."""
    replicate, shard = parallelism.replicate_size, parallelism.shard_size
    if not replicate.is_known or not shard.is_known:
        return
    others = model_parallel(parallelism)
    if any(degree.need() < 1 for _, degree in others) or replicate.need() < 1:
        return
    if shard.need() < -1 or shard.need() == 0:
        return
    world_size = cluster.world_size.need()
    rest = known((("replicas", replicate), *others))
    fills = shard.value == -1
    mesh = (
        rest if fills else known((("replicas", replicate), ("shards", shard), *others))
    )
    ranks = product(mesh)
    at = [*values(mesh), *([shard] if fills else []), cluster.world_size]
    if ranks == world_size or (fills and world_size % ranks == 0):
        yield passed(at=at, measured=ranks, required=world_size)
        return
    if fills:
        message = (
            f"the shard degree -1 fills the mesh, but {world_size:,} GPUs are not a "
            f"multiple of {as_text(mesh)}"
        )
    else:
        sides = as_text(mesh) if mesh else "all degrees are 1: the product 1"
        message = f"{sides} ranks, and the job has {world_size:,} GPUs"
    yield fail(
        message,
        at=at,
        measured=ranks,
        required=world_size,
        cost="the framework refuses the mesh at start-up, on allocated nodes",
        remedy=_remedy(world_size, product(rest), is_filled=fills),
    )


def _remedy(world_size: int, rest: int, *, is_filled: bool) -> str:
    if world_size % rest or is_filled:
        return f"Lower the degrees until their product divides {world_size:,}."
    return (
        f"Set the shard degree to {world_size // rest:,} "
        f"({world_size:,} / {rest:,}), or to -1, which fills the mesh."
    )
