"""A collective timeout that a blocking save will probably outlast.

Why it hurts: ranks that are done with their part of a save wait for the others in the
next collective. A watchdog of a minute, set to notice faults early, then ends a healthy
job at its first slow save.

What passes: a timeout above the time that one writer needs for the whole checkpoint, or
above the stated time of a save in shards.

Where it does not apply: asynchronous saves; sharded saves of unknown length; gathered
saves of stated length, which watchdog_shorter_than_gathered_save judges.

Source: public issues torchtune 2093, DeepSpeed 7533 and accelerate 2912; the size of a
checkpoint from below over the clause's rate of one writer.

Bad::

    fsdp_config: {state_dict_type: FULL_STATE_DICT}    # 70 billion parameters
    ddp_timeout: 60

Good::

    fsdp_config: {state_dict_type: SHARDED_STATE_DICT}
    ddp_timeout: 60
"""

from speccheck.validator.evidence.plan import (
    Checkpoint,
    Communication,
    Run,
    TrainingPlan,
)
from speccheck.validator.forecast.saving import size
from speccheck.validator.models.checkpointing import gathered_seconds
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Writer(Numbers):
    """The rate at which one rank writes."""

    writer_rate: float  # GB/s


@rule(clause="FT-020", confidence="calibrated")
def watchdog_shorter_than_estimated_save(
    plan: TrainingPlan,
    checkpoint: Checkpoint,
    communication: Communication,
    run: Run,
    limit: Writer,
) -> Verdicts:
    """Judge the timeout against a save whose time or effect is not certain."""
    is_off = checkpoint.enabled.value is False or checkpoint.asynchronous.value is True
    if is_off or run.role.value == "debug":
        return
    timeout, save = communication.timeout_seconds, checkpoint.save_seconds
    is_gathered = checkpoint.format.value == "full"
    if is_gathered == save.is_known or not timeout.is_known:
        return
    seconds = save.value
    if seconds is None:
        seconds = gathered_seconds(size(plan).need(), limit.writer_rate).lower
    at = [timeout, save, checkpoint.format]
    if timeout.need() > seconds:
        yield passed(at=at, measured=timeout.need(), required=seconds)
        return
    how = "one rank writes for at least" if is_gathered else "a save takes"
    yield fail(
        f"ranks that wait for others give up after {timeout.need():,.0f} s, but {how} "
        f"{duration(seconds)}",
        at=at,
        measured=timeout.need(),
        required=seconds,
        cost="a slow save ends the healthy job",
    )
