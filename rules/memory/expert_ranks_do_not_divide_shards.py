"""Expert-parallel ranks that torchtitan cannot borrow from the shards.

Why it hurts: torchtitan builds the expert mesh of the same ranks that shard the dense
layers: shard x context x tensor. When the expert degree does not divide their product
it asserts, after the allocation has been granted.

What passes: a product of shard, context and tensor degrees that is a multiple of the
expert-parallel degree.

Where it does not apply: no expert parallelism; other frameworks.

Source: pytorch/torchtitan torchtitan/distributed/parallel_dims.py (ParallelDims); with
the same tensor degree for experts it asks for more: shard x context alone.

Bad::

    [parallelism]
    data_parallel_shard_degree = 8
    tensor_parallel_degree = 1
    expert_parallel_degree = 16

Good::

    [parallelism]
    data_parallel_shard_degree = 16
    tensor_parallel_degree = 1
    expert_parallel_degree = 16
"""

from speccheck.rules.memory._degrees import as_text, known, product, values
from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-005",
    frameworks=("torchtitan",),
    about=("parallelism.expert_parallel_size",),
)
def expert_ranks_do_not_divide_shards(
    parallelism: Parallelism, cluster: Cluster
) -> Verdicts:
    """Judge (shard x CP x TP) % EP."""
    experts = parallelism.expert_parallel_size
    if experts.or_else(1) <= 1:
        return
    degrees = (
        ("context", parallelism.context_parallel_size),
        ("tensor", parallelism.tensor_parallel_size),
    )
    shard = parallelism.shard_size
    if shard.need() == -1:
        cluster.world_size.need()
        return  # a mesh that does not fill the world, which another rule judges
    sides = known((("shard", shard), *degrees))
    ranks = product(sides)
    at = [experts, *values(sides)]
    size = experts.need()
    if ranks % size == 0:
        yield passed(at=at, measured=ranks, required=size)
        return
    yield fail(
        f"{size} expert-parallel ranks cannot be borrowed from "
        f"{as_text(sides) if sides else ranks} ranks, which is no multiple of {size}",
        at=at,
        measured=ranks,
        required=size,
        cost="torchtitan asserts while it builds its meshes, on allocated nodes",
        remedy=f"Use an expert-parallel degree that divides {ranks:,}.",
    )
