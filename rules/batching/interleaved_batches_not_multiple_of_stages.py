"""An interleaved schedule with micro-batches that are no multiple of the stages.

Why it hurts: the interleaved schedule of Megatron-LM works in groups of as many
micro-batches as there are stages. A remainder raises on the first step.

What passes: micro-batches that are a multiple of the pipeline-parallel size.

Where it does not apply: no virtual stages; a stated group size
(--microbatch-group-size-per-virtual-pipeline-stage), which has a rule of its own.

Source: NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py
(forward_backward_pipelining_with_interleaving).

Bad::

    # 12 micro-batches
    --pipeline-model-parallel-size 8 --num-virtual-stages-per-pipeline-rank 2

Good::

    # 16 micro-batches
    --pipeline-model-parallel-size 8 --num-virtual-stages-per-pipeline-rank 2
"""

from speccheck.validator.evidence.plan import Batch, Model, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_GROUP_FLAG = "--microbatch-group-size-per-virtual-pipeline-stage"


@rule(
    clause="BATCH-001",
    about=("parallelism.virtual_stages", "parallelism.layers_per_virtual_stage"),
)
def interleaved_batches_not_multiple_of_stages(
    batch: Batch, parallelism: Parallelism, model: Model, stated: StatedKeys
) -> Verdicts:
    """Judge micro-batches % PP where chunks are interleaved."""
    chunk, count = parallelism.layers_per_virtual_stage, parallelism.virtual_stages
    if not chunk.is_known and count.or_else(1) <= 1:
        return
    if parallelism.engine.value != "megatron" or _has_group_size(stated):
        return
    stages = parallelism.pipeline_parallel_size.need()
    if stages <= 1 or (chunk.is_known and _is_one_chunk(parallelism, model, stages)):
        return
    steps = batch.gradient_accumulation_steps
    micro_batches = steps.need()
    at = [
        batch.global_batch_size,
        batch.micro_batch_size,
        parallelism.pipeline_parallel_size,
        chunk if chunk.is_known else count,
    ]
    if micro_batches % stages == 0:
        yield passed(at=at, measured=micro_batches, required=stages)
        return
    yield fail(
        f"{micro_batches} micro-batches are not a multiple of {stages} pipeline "
        "stages, which the interleaved schedule needs",
        at=at,
        measured=micro_batches,
        required=stages,
        cost="Megatron-LM raises on the first step",
        remedy=f"Choose a global batch that gives a multiple of {stages} micro-batches "
        "on each data-parallel rank.",
    )


def _has_group_size(stated: StatedKeys) -> bool:
    return any(key.path == (_GROUP_FLAG,) for file in stated.files for key in file.keys)


def _is_one_chunk(parallelism: Parallelism, model: Model, stages: int) -> bool:
    """Return whether each rank holds a single chunk, which is no interleaving."""
    chunk = parallelism.layers_per_virtual_stage.need()
    return model.layers.need() == stages * chunk
