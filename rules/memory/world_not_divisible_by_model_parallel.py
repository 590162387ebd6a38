"""The GPUs of the job do not divide into whole replicas of the model.

Why it hurts: one replica takes tensor x pipeline x context parallel ranks. When the
world size is no multiple of that product, the framework stops while it builds its
process groups, after the scheduler has given you the nodes.

What passes: a world size that is a multiple of the product of the degrees.

Where it does not apply: plans without model parallelism, and plans that state their
replicas and shards as well, where the whole product must equal the world size.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args); the example
script for BERT 340M on one node has tensor 8 x pipeline 16.

Bad::

    #SBATCH --nodes=4 --gpus-per-node=8
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 8

Good::

    #SBATCH --nodes=4 --gpus-per-node=8
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4
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
def world_not_divisible_by_model_parallel(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge world % (TP x PP x CP); a part of the product can already prove a fault."""
    if parallelism.shard_size.is_known and parallelism.replicate_size.is_known:
        return
    degrees = model_parallel(parallelism)
    cutting = known(degrees)
    if any(degree.or_else(1) < 1 for _, degree in cutting):
        return
    if not cutting and all(degree.is_known for _, degree in degrees):
        return
    if not cutting:
        parallelism.tensor_parallel_size.need()
    ranks = product(cutting)
    world_size = cluster.world_size.need()
    at = [*values(cutting), cluster.world_size]
    if world_size % ranks == 0:
        for _, degree in degrees:
            degree.need()
        yield passed(at=at, measured=world_size, required=ranks)
        return
    text = f"one replica takes {as_text(cutting)} GPUs"
    if world_size < ranks:
        text += f", and the job has {world_size:,}"
    else:
        text += f", and {world_size:,} GPUs are not a multiple of that"
    yield fail(
        text,
        at=at,
        measured=world_size,
        required=ranks,
        cost="the framework stops while it builds its groups, on allocated nodes",
        remedy=f"Use a multiple of {ranks:,} GPUs, or degrees whose product divides "
        f"{world_size:,}.",
    )
