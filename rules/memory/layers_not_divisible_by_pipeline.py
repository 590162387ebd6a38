"""Layers that do not divide over the pipeline stages of Megatron-LM.

Why it hurts: without a stated layout every stage takes the same number of layers. A
remainder stops the run at start-up.

What passes: layers that are a multiple of the pipeline-parallel size.

Where it does not apply: no pipeline; a stated uneven layout; frameworks that split
layers unevenly by themselves (torchtitan, DeepSpeed's pipeline engine). A layout that
counts the embedding or the loss as a layer is judged with these.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args) and
megatron/core/transformer/transformer_config.py (account_for_embedding_in_pipeline_split
and account_for_loss_in_pipeline_split).

Bad::

    --num-layers 24 --pipeline-model-parallel-size 16

Good::

    --num-layers 24 --pipeline-model-parallel-size 8
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_COUNTED = (
    "--account-for-embedding-in-pipeline-split",
    "--account-for-loss-in-pipeline-split",
)


@rule(clause="MEM-005", about=("parallelism.pipeline_parallel_size",))
def layers_not_divisible_by_pipeline(
    model: Model, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge layers % PP, with what the layout counts besides."""
    pipeline, layout = parallelism.pipeline_parallel_size, parallelism.pipeline_layout
    counted = _counted(stated)
    if pipeline.or_else(1) <= 1:
        return
    if layout.is_known and (not counted or not set(layout.places) <= set(counted)):
        return
    if not parallelism.engine.or_else("").startswith("megatron"):
        return
    stages, layers = pipeline.need(), model.layers.need() + len(counted)
    at: list[Place | Value[int]] = [model.layers, pipeline, *counted]
    if layers % stages == 0:
        yield passed(at=at, measured=layers, required=stages)
        return
    what = f"{model.layers.need()} layers + {len(counted)} counted = " * bool(counted)
    yield fail(
        f"{what}{layers} layers do not divide over {stages} pipeline stages: "
        f"{layers} / {stages} leaves {layers % stages}",
        at=at,
        measured=layers,
        required=stages,
        cost="the run stops at start-up, on allocated nodes",
        remedy=f"Use a pipeline size that divides {layers}, or state an uneven layout "
        "(--decoder-first-pipeline-num-layers, --pipeline-model-parallel-layout).",
    )


def _counted(stated: StatedKeys) -> list[Place]:
    """Return where the embedding and the loss are counted as layers."""
    return [
        key.place
        for file in stated.files
        for key in file.keys
        if key.path[0] in _COUNTED
    ]
