"""Layers that do not divide over the pipeline stages of Megatron-LM.

Why it hurts: without a stated layout every stage takes the same number of layers. A
remainder stops the run at start-up.

What passes: layers that are a multiple of the pipeline-parallel size.

Where it does not apply: no pipeline; a stated uneven layout, also one that counts the
embedding or the loss as a layer; frameworks that split layers unevenly by themselves
(torchtitan, DeepSpeed's pipeline engine).

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).

Bad::

    --num-layers 24 --pipeline-model-parallel-size 16

Good::

    --num-layers 24 --pipeline-model-parallel-size 8
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("parallelism.pipeline_parallel_size",))
def layers_not_divisible_by_pipeline(
    model: Model, parallelism: Parallelism
) -> Verdicts:
    """Judge layers % PP."""
    pipeline = parallelism.pipeline_parallel_size
    if pipeline.or_else(1) <= 1 or parallelism.pipeline_layout.is_known:
        return
    if not parallelism.engine.or_else("").startswith("megatron"):
        return
    stages, layers = pipeline.need(), model.layers.need()
    at = [model.layers, pipeline]
    if layers % stages == 0:
        yield passed(at=at, measured=layers, required=stages)
        return
    yield fail(
        f"{layers} layers do not divide over {stages} pipeline stages: "
        f"{layers} / {stages} leaves {layers % stages}",
        at=at,
        measured=layers,
        required=stages,
        cost="the run stops at start-up, on allocated nodes",
        remedy=f"Use a pipeline size that divides {layers}, or state an uneven layout "
        "(--decoder-first-pipeline-num-layers, --pipeline-model-parallel-layout).",
    )
