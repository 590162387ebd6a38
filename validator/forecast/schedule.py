"""How long a run is, and the time from one save to the next, as a plan states them."""

from speccheck.validator.evidence.plan import Checkpoint, Run
from speccheck.validator.models.durations import hours_in, seconds_in


def save_interval_seconds(checkpoint: Checkpoint, run: Run) -> float:
    """The time between two saves of the most frequent tier.

    Raises MissingEvidence where an interval in steps has no step time beside it.
    """
    local = checkpoint.local_interval_steps
    steps = local if local.is_known else checkpoint.interval_steps
    if checkpoint.interval_seconds.is_known and not local.is_known:
        return checkpoint.interval_seconds.need()
    return steps.need() * run.step_seconds.need()


def run_seconds(run: Run) -> float | None:
    """The expected length of the run: stated, or steps times step time."""
    if run.hours.value is not None:
        return seconds_in(run.hours.value)
    if run.steps.value is not None and run.step_seconds.value is not None:
        return run.steps.value * run.step_seconds.value
    return None


def run_hours(run: Run) -> float | None:
    """The same in hours."""
    seconds = run_seconds(run)
    return None if seconds is None else hours_in(seconds)
