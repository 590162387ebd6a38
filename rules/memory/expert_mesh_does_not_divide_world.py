"""Expert, expert-tensor and pipeline ranks that do not divide the world size.

Why it hurts: expert layers use a mesh of their own over the same ranks. When expert x
expert-tensor x pipeline ranks do not divide the world size, its groups cannot be built.

What passes: a world size that is a multiple of that product.

Where it does not apply: no expert parallelism.

Source: NVIDIA/Megatron-LM megatron/core/parallel_state.py; torchtitan
torchtitan/distributed/parallel_dims.py; NVIDIA-NeMo/Megatron-Bridge issue 546.

Bad::

    # 32 GPUs
    --expert-model-parallel-size 12 --pipeline-model-parallel-size 2

Good::

    # 32 GPUs
    --expert-model-parallel-size 8 --pipeline-model-parallel-size 2
"""

from speccheck.rules.memory._degrees import as_text, known, product, values
from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("parallelism.expert_parallel_size",))
def expert_mesh_does_not_divide_world(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge world % (EP x ETP x PP); what is not known counts as 1."""
    if parallelism.expert_parallel_size.or_else(1) <= 1:
        return
    mesh = known(
        (
            ("expert", parallelism.expert_parallel_size),
            ("expert-tensor", parallelism.expert_tensor_parallel_size),
            ("pipeline", parallelism.pipeline_parallel_size),
        )
    )
    if any(degree.or_else(1) < 1 for _, degree in mesh):
        return
    ranks, world_size = product(mesh), cluster.world_size.need()
    at = [*values(mesh), cluster.world_size]
    if world_size % ranks == 0:
        yield passed(at=at, measured=world_size, required=ranks)
        return
    yield fail(
        f"expert layers take {as_text(mesh)} ranks, and {world_size:,} GPUs are not a "
        "multiple of that",
        at=at,
        measured=world_size,
        required=ranks,
        cost="the groups of the expert layers cannot be built: the run stops",
        remedy=f"Use degrees whose product divides {world_size:,}.",
    )
