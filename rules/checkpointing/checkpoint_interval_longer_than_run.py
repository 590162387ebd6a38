"""A checkpoint interval that is longer than the run.

Why it hurts: saving is on, the folder is there, and nothing is ever written before the
end. It happens when the number of steps is lowered and the interval is not.

What passes: at least one save before the last step.

Where it does not apply: debug runs and benchmarks of under 200 steps, runs that are
known to be short, and intervals that are not counted in steps.

Source: arithmetic; huggingface/nanotron config/config.py (CheckpointsArgs).

Bad::

    "max_steps": 2000, "save_steps": 5000

Good::

    "max_steps": 2000, "save_steps": 250
"""

from speccheck.rules.checkpointing._length import is_long
from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class SaveLimit(Numbers):
    """The length from which a run must save."""

    max_unsaved: float  # hours


@rule(clause="CKPT-001", about=("run.steps",))
def checkpoint_interval_longer_than_run(
    plan: TrainingPlan, checkpoint: Checkpoint, run: Run, limit: SaveLimit
) -> Verdicts:
    """Judge interval <= steps."""
    interval, steps = checkpoint.interval_steps, run.steps
    in_steps = checkpoint.interval_unit.or_else("steps") == "steps"
    if checkpoint.enabled.value is False or not in_steps:
        return
    if not interval.is_known or interval.status == "default" or not steps.is_known:
        return
    if not is_long(plan, run, limit.max_unsaved):
        return
    every, last = interval.need(), steps.need()
    if every <= last:
        yield passed(at=[interval, steps], measured=every, required=last)
        return
    yield fail(
        f"a checkpoint every {every:,} steps never comes: the run ends after "
        f"{last:,} steps",
        at=[interval, steps],
        measured=every,
        required=last,
        cost="a fault at any time loses everything since the start",
        remedy="Set the interval to a small share of the steps, so that several "
        "checkpoints lie in the run.",
    )
