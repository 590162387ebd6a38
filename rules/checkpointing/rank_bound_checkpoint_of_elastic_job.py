"""ZeRO checkpoints of a job whose number of nodes may change.

Why it hurts: DeepSpeed writes one file of optimizer states for each rank, and loads
them on the same number of ranks only. An elastic job that comes back with fewer nodes
cannot go on from its own checkpoint.

What passes: a universal checkpoint.

Where it does not apply: a fixed number of nodes; engines other than DeepSpeed; stage 0.

Source: deepspeedai/DeepSpeed universal checkpointing tutorial; runtime/config.py
(checkpoint.load_universal).

Bad::

    torchrun --nnodes=4:8 train.py --deepspeed zero3.json

Good::

    "checkpoint": {"load_universal": true}
"""

from speccheck.validator.evidence.plan import Parallelism, Recovery
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_UNIVERSAL = "load_universal"


@rule(
    clause="CKPT-031",
    confidence="advisory",
    about=("recovery.minimum_nodes", "recovery.maximum_nodes"),
)
def rank_bound_checkpoint_of_elastic_job(
    parallelism: Parallelism, recovery: Recovery, stated: StatedKeys
) -> Verdicts:
    """Judge the checkpoint format of an elastic DeepSpeed job."""
    least, most = recovery.minimum_nodes, recovery.maximum_nodes
    if not least.is_known or not most.is_known or least.value == most.value:
        return
    stage = parallelism.sharding_stage
    if parallelism.engine.value != "deepspeed" or not stage.or_else(0):
        return
    at = [least, most, stage]
    if any(
        key.path[-1:] == (_UNIVERSAL,) and key.value is True
        for file in stated.files
        for key in file.keys
    ):
        yield passed(at=at)
        return
    yield fail(
        f"the job runs on {least.need()} to {most.need()} nodes, and shards of ZeRO "
        f"stage {stage.need()} load on the number of ranks that wrote them",
        at=at,
        measured="one file a rank",
        required="a universal checkpoint",
        cost="the job cannot go on after it has lost a node",
    )
