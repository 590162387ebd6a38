"""More checkpoints are kept than the store has room for.

Why it hurts: the file system is full late in the run. The save that finds it so is
lost, and often the job with it.

What passes: the checkpoints that are kept, and one in the making, fit the free space;
a run that makes fewer than it may keep needs room for these alone.

Where it does not apply: plans that do not state the free space.

Source: public issues open_lm 154 and ms-swift 6392; bytes of a checkpoint from below.

Bad::

    model: {parameters: 70000000000}
    checkpoint: {keep_last: 10, storage_bytes: 1000000000000}    # 1 TB

Good::

    checkpoint: {keep_last: 2, storage_bytes: 5000000000000}
"""

from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.forecast.saving import kept_checkpoints, size
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class StoreLimit(Numbers):
    """What else lies in the store while a checkpoint is written."""

    in_the_making: int


@rule(clause="CKPT-020", confidence="lower_bound", about=("checkpoint.storage_bytes",))
def checkpoints_outgrow_store(
    plan: TrainingPlan, checkpoint: Checkpoint, run: Run, limit: StoreLimit
) -> Verdicts:
    """Judge (kept + in the making) x size <= free space."""
    if checkpoint.enabled.value is False:
        return
    room, estimate = checkpoint.storage_bytes, size(plan).need()
    count = kept_checkpoints(checkpoint, run, limit.in_the_making)
    needed = count * estimate.lower
    at = [room, checkpoint.keep_last, checkpoint.size_bytes]
    if needed > room.need():
        yield fail(
            f"{count} checkpoints of at least {gigabytes(estimate.lower)} need "
            f"{gigabytes(needed)}; {gigabytes(room.need())} are free",
            at=at,
            measured=needed,
            required=room.need(),
            cost="a save finds the store full, and the run ends",
        )
        return
    if count * estimate.upper > room.need():
        yield unknown(
            f"{count} checkpoints need {gigabytes(needed)} or more; how much more is "
            f"not known",
            missing=["checkpoint.size_bytes"],
            at=at,
        )
        return
    yield passed(at=at, measured=count * estimate.upper, required=room.need())
