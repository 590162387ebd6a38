"""The checkpoint schedule of a plan in seconds."""

from speccheck.validator.evidence.plan import Checkpoint, Cluster, Recovery, Run
from speccheck.validator.models.checkpoint_interval import (
    SECONDS_PER_HOUR,
    mean_seconds_between_failures,
)


def save_interval_seconds(checkpoint: Checkpoint, run: Run) -> float:
    """The time between two saves of the most frequent tier.

    Raises MissingEvidence where an interval in steps has no step time beside it.
    """
    local = checkpoint.local_interval_steps
    steps = local if local.is_known else checkpoint.interval_steps
    if checkpoint.interval_seconds.is_known and not local.is_known:
        return checkpoint.interval_seconds.need()
    return steps.need() * run.step_seconds.need()


def job_mtbf_seconds(cluster: Cluster, failures_per_node_day: float) -> float:
    """The stated mean time between failures of the job, else by the rate of a node."""
    stated = cluster.job_mtbf_hours.value
    if stated is not None:
        return stated * SECONDS_PER_HOUR
    return mean_seconds_between_failures(cluster.nodes.need(), failures_per_node_day)


def run_seconds(run: Run) -> float | None:
    """The expected length of the run: stated, or steps times step time."""
    if run.hours.value is not None:
        return run.hours.value * SECONDS_PER_HOUR
    if run.steps.value is not None and run.step_seconds.value is not None:
        return run.steps.value * run.step_seconds.value
    return None


def run_hours(run: Run) -> float | None:
    """The same in hours."""
    seconds = run_seconds(run)
    return None if seconds is None else hours_in(seconds)


def hours_in(seconds: float) -> float:
    """Seconds as hours."""
    return seconds / SECONDS_PER_HOUR


def restart_seconds(recovery: Recovery) -> float:
    """The known parts of a restart: a lower bound of the whole."""
    parts = (
        recovery.detect_seconds,
        recovery.replace_seconds,
        recovery.initialize_seconds,
        recovery.load_seconds,
    )
    return sum(part.or_else(0.0) for part in parts)


def duration(seconds: float) -> str:
    """Seconds as people say them: `45 s`, `38 min`, `4.2 h`, `3 d`."""
    for unit, length in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * length or (unit == "h" and seconds >= length):
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
