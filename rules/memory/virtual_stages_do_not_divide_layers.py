"""An interleaved schedule whose chunks do not divide the layers of a stage.

Why it hurts: each pipeline rank holds equal chunks of its layers. With a remainder
Megatron-LM stops at start-up.

What passes: layers of a stage that are a multiple of the layers of a virtual stage, or
of the number of virtual stages.

Where it does not apply: no interleaved schedule; a stated uneven layout.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args) and
megatron/core/transformer/transformer_config.py.

Bad::

    --num-layers 48 --pipeline-model-parallel-size 8
    --num-layers-per-virtual-pipeline-stage 4

Good::

    --num-layers 48 --pipeline-model-parallel-size 8
    --num-layers-per-virtual-pipeline-stage 3
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-005",
    about=("parallelism.virtual_stages", "parallelism.layers_per_virtual_stage"),
)
def virtual_stages_do_not_divide_layers(
    model: Model, parallelism: Parallelism
) -> Verdicts:
    """Judge (layers / PP) % chunk."""
    chunk, count = parallelism.layers_per_virtual_stage, parallelism.virtual_stages
    stated = chunk if chunk.is_known else count
    if stated.or_else(1) <= 1 or parallelism.pipeline_layout.is_known:
        return
    if not parallelism.engine.or_else("").startswith("megatron"):
        return
    size, layers = stated.need(), model.layers.need()
    stages = parallelism.pipeline_parallel_size.need()
    if stages < 1 or layers % stages:
        return  # the layers do not even divide over the stages
    share = layers // stages
    what = "layers of a virtual stage" if chunk.is_known else "virtual stages"
    at = [stated, model.layers, parallelism.pipeline_parallel_size]
    if share % size == 0:
        yield passed(at=at, measured=share, required=size)
        return
    yield fail(
        f"{layers} layers / {stages} pipeline stages = {share}, which {size} {what} do "
        "not divide",
        at=at,
        measured=size,
        required=share,
        cost="the run stops at start-up, on allocated nodes",
        remedy=f"Use a number that divides {share}.",
    )
