"""Writing a checkpoint takes much of the time until the next.

Why it hurts: a save that blocks training costs that share of the run. One in the
background delays the next, until the job waits for it or loses it.

What passes: a write time within the clause's share of the interval; a save beside
training may take a larger share.

Where it does not apply: one node; plans that state neither the time of a save nor what
the store takes a second.

Source: arithmetic; the share is an engineering default.

Bad::

    checkpoint: {interval_seconds: 300, save_seconds: 60}

Good::

    checkpoint: {interval_seconds: 1800, save_seconds: 60}
"""

from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.forecast.saving import interval, write_time
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class SaveShare(Numbers):
    """The share of the interval that a save may take."""

    save_share: float
    background_share: float


@rule(clause="CKPT-008", confidence="calibrated")
def saves_fill_the_interval(
    plan: TrainingPlan, checkpoint: Checkpoint, run: Run, limit: SaveShare
) -> Verdicts:
    """Judge the write time, at its shortest, against the interval."""
    if checkpoint.enabled.value is False:
        return
    takes, every = write_time(plan).need().lower, interval(plan).need().value
    at = [
        checkpoint.save_seconds,
        checkpoint.storage_bytes_per_second,
        checkpoint.interval_seconds,
        checkpoint.interval_steps,
        run.step_seconds,
    ]
    is_beside = checkpoint.asynchronous.value is True
    share = limit.background_share if is_beside else limit.save_share
    longest = share * every
    if takes <= longest:
        yield passed(at=at, measured=takes, required=longest)
        return
    yield fail(
        f"writing takes {duration(takes)}, {takes / every:.0%} of the "
        f"{duration(every)} until the next save; at most {share:.0%} may",
        at=at,
        measured=takes,
        required=longest,
        cost="training waits for its saves, or saves wait for each other",
        remedy=f"Save every {duration(takes / share)}, or write faster: "
        f"all ranks, a tier on the node, faster storage.",
    )
