"""Units of uniform recomputation that do not divide the layers of a model chunk.

Why it hurts: Megatron-LM walks over the layers of a rank in steps of the unit and takes
each unit whole. The last one reaches beyond the layers: the first forward pass ends
with an index error. A unit of 0 never ends.

What passes: a unit that divides the layers of a stage, or of a virtual stage.

Where it does not apply: `block`, which counts layers and may exceed them; selective
recomputation; uneven layouts; DeepSpeed's engine.

Source: megatron-core 0.14.0 and 0.16.0 transformer/transformer_block.py
(_checkpointed_forward), read in the wheels.

Bad::

    --num-layers 32 --pipeline-model-parallel-size 4
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 3

Good::

    --recompute-granularity full --recompute-method uniform --recompute-num-layers 2
"""

from speccheck.validator.evidence.plan import Memory, Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", frameworks=("megatron-lm",), about=("memory.recompute_layers",))
def recompute_unit_does_not_divide_layers(
    memory: Memory, model: Model, parallelism: Parallelism
) -> Verdicts:
    """Judge the layers of a chunk % the unit."""
    unit, stages = memory.recompute_layers, parallelism.pipeline_parallel_size
    if memory.recompute_method.value != "uniform" or not unit.is_known:
        return
    if parallelism.engine.value == "deepspeed" or parallelism.pipeline_layout.is_known:
        return
    size, layers = unit.need(), model.layers.need()
    at = [unit, model.layers, stages]
    chunk = parallelism.layers_per_virtual_stage
    if chunk.or_else(0) > 0:
        share, at = chunk.need(), [unit, chunk]
    else:
        chunks = stages.need() * max(parallelism.virtual_stages.or_else(1), 1)
        if chunks < 1 or layers % chunks:
            return  # the layers do not even divide over the stages
        share = layers // chunks
    if size > 0 and share % size == 0:
        yield passed(at=at, measured=share, required=size)
        return
    yield fail(
        f"recomputation in units of {size} layers does not divide the {share} layers "
        "of a model chunk",
        at=at,
        measured=size,
        required=share,
        cost="the first forward pass ends with an index error, or never",
        remedy=f"Use a unit that divides {share}, such as 1.",
    )
