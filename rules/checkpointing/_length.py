"""Whether a run is long enough to need checkpoints."""

from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.forecast.plan_facts import run_hours, run_seconds
from speccheck.validator.models.units import duration

_FINE_TUNING = frozenset({"sft", "lora", "rl"})  # often done within the hour


def is_long(run: Run, cluster: Cluster, limit_hours: float) -> str:
    """What makes the run long, in words; empty for one that is surely short.

    Raises MissingEvidence where neither the length nor the scale tells.
    """
    if run.is_trial:
        return ""
    hours, seconds = run_hours(run), run_seconds(run)
    if hours is not None and seconds is not None:
        return duration(seconds) if hours > limit_hours else ""
    nodes = cluster.nodes.or_else(1)
    if nodes <= 1 or run.role.value in _FINE_TUNING:
        run.hours.need()
    return f"unknown length on {nodes:,} nodes"
