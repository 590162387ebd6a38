"""Parameter offload asked for below ZeRO stage 3.

Why it hurts: only stage 3 cuts parameters into pieces that can live in host memory.
Below it the block is read and never used, so the GPU memory you counted on is not free.

What passes: parameter offload with stage 3.

Where it does not apply: no parameter offload; engines other than DeepSpeed.

Source: DeepSpeed runtime/zero/config.py (offload_param: valid only with stage 3);
wenet-e2e/wenet pull request 2499.

Bad::

    "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}

Good::

    "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}
"""

from speccheck.validator.evidence.plan import Memory, Parallelism
from speccheck.validator.models.training_memory import WEIGHT_STAGE
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-002", about=("memory.parameter_offload_device",))
def parameter_offload_below_stage_three(
    memory: Memory, parallelism: Parallelism
) -> Verdicts:
    """Judge the stage where parameters are offloaded."""
    device = memory.parameter_offload_device
    if device.or_else("none") == "none" or parallelism.engine.value != "deepspeed":
        return
    stage = parallelism.sharding_stage.need()
    at = (device, parallelism.sharding_stage)
    if stage >= WEIGHT_STAGE:
        yield passed(at=at, measured=stage)
        return
    yield fail(
        f"parameters are offloaded to {device.value} at ZeRO stage {stage}; only stage "
        f"{WEIGHT_STAGE} reads the block",
        at=at,
        measured=stage,
        required=WEIGHT_STAGE,
        cost="the parameters stay on the GPU, without a message",
        remedy="Set zero_optimization.stage to 3, or remove offload_param.",
    )
