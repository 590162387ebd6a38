"""ZeRO stage 2 or 3 under DeepSpeed's pipeline engine.

Why it hurts: the pipeline engine accumulates gradients over micro-batches and needs
them whole on each rank. It asserts that the ZeRO stage is below 2.

What passes: stage 0 or 1 with pipeline stages.

Where it does not apply: one pipeline stage, or another engine.

Source: DeepSpeed runtime/pipe/engine.py; deepspeedai/DeepSpeed issues 823, 1110, 1629;
microsoft/Megatron-DeepSpeed issue 474.

Bad::

    --pipeline-model-parallel-size 4 --deepspeed --deepspeed_config ds.json
    # ds.json: {"zero_optimization": {"stage": 2}}

Good::

    # ds.json: {"zero_optimization": {"stage": 1}}
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.models.training_memory import GRADIENT_STAGE
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("parallelism.pipeline_engine",))
def gradient_sharding_under_pipeline_engine(
    parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the stage where DeepSpeed's pipeline engine runs."""
    pipeline = parallelism.pipeline_parallel_size
    if parallelism.pipeline_engine.value != "deepspeed" or pipeline.or_else(2) <= 1:
        return
    stages, stage = pipeline.need(), parallelism.sharding_stage.need()
    at = [parallelism.sharding_stage, pipeline]
    if stage < GRADIENT_STAGE:
        yield passed(at=at, measured=stage)
        return
    yield fail(
        f"ZeRO stage {stage} runs under the pipeline engine with {stages} stages, "
        "which takes stage 0 or 1",
        at=at,
        measured=stage,
        required=1,
        cost="DeepSpeed stops on an assertion when the engine starts",
        remedy="Set zero_optimization.stage to 1.",
        fix=rewritten(parallelism.sharding_stage, 1, stated),
    )
