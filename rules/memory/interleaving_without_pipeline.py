"""Virtual pipeline stages with too few pipeline stages to interleave them.

Why it hurts: with one stage there is nothing to interleave, and with two and no overlap
of their messages the same pair of ranks would send to each other twice at once.
Megatron-LM asserts that neither happens.

What passes: virtual stages on more than two pipeline stages, or on two with the overlap
that is the default.

Where it does not apply: no virtual stages; a chunk of all layers, which is one stage.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).

Bad::

    --pipeline-model-parallel-size 1 --num-virtual-stages-per-pipeline-rank 2

Good::

    --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_WITHOUT_OVERLAP = "--no-overlap-p2p-communication"


@rule(
    clause="MEM-005",
    frameworks=("megatron-lm",),
    about=("parallelism.virtual_stages", "parallelism.layers_per_virtual_stage"),
)
def interleaving_without_pipeline(
    parallelism: Parallelism, model: Model, stated: StatedKeys
) -> Verdicts:
    """Judge the pipeline stages where more than one chunk lies on each."""
    chunk, count = parallelism.layers_per_virtual_stage, parallelism.virtual_stages
    stages = parallelism.pipeline_parallel_size
    chunks = count.or_else(1)
    if not count.is_known and chunk.is_known:
        share = model.layers.need() // max(stages.need(), 1)
        chunks = share // max(chunk.need(), 1)
    if chunks <= 1:
        return
    switches = [
        key
        for file in stated.files
        for key in file.keys
        if key.path == (_WITHOUT_OVERLAP,) and key.is_sure
    ]
    least = 2 + bool(switches)
    size = stages.need()
    at: list[Place | Value[int]] = [
        stages,
        count if count.is_known else chunk,
        *(key.place for key in switches),
    ]
    if size >= least:
        yield passed(at=at, measured=size, required=least)
        return
    why = f" with {_WITHOUT_OVERLAP}" if switches else ""
    yield fail(
        f"{chunks} virtual stages on {size} pipeline stage{'s' * (size > 1)}{why}: the "
        f"interleaved schedule needs at least {least}",
        at=at,
        measured=size,
        required=least,
        cost="Megatron-LM stops on an assertion at start-up",
        remedy=f"Use at least {least} pipeline stages, or no virtual stages.",
    )
