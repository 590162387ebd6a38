"""A save that gathers the whole model on one rank while training waits.

Why it hurts: thousands of GPUs stand still for the time that one client of the file
system needs to write the whole model.

What passes: every rank writes its own shard, or the save runs beside training.

Where it does not apply: jobs below the size class of the clause.

Source: NVIDIA/Megatron-LM --ckpt-format and --async-save; pytorch
torch.distributed.checkpoint.

Bad::

    --ckpt-format torch

Good::

    --ckpt-format torch_dist --async-save --use-persistent-ckpt-worker
"""

from speccheck.validator.evidence.plan import Checkpoint
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CKPT-004")
def gathered_blocking_save(checkpoint: Checkpoint) -> Verdicts:
    """Judge the format and whether the save runs beside training."""
    if checkpoint.enabled.value is False:
        return
    layout, beside = checkpoint.format, checkpoint.asynchronous
    at = [layout, beside]
    if beside.value is True or layout.value in {"sharded", "local"}:
        yield passed(at=at)
        return
    layout.need()
    yield fail(
        "each save gathers the whole model on one rank while all others wait; at this "
        "size every rank must write its own shard, or the save run beside training",
        at=at,
        measured="full, blocking",
        required="sharded or asynchronous",
        cost="the whole job stands still for the time that one writer needs",
    )
