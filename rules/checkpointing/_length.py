"""Whether a run is long enough to need checkpoints."""

from speccheck.validator.evidence.plan import Run, TrainingPlan
from speccheck.validator.forecast.bounds import (
    MOST_GPUS_PER_NODE,
    least_gpu_hours,
    least_gpus,
    least_hours,
    several_nodes,
)
from speccheck.validator.forecast.plan_facts import run_hours, run_seconds
from speccheck.validator.models.units import duration

_FINE_TUNING = frozenset({"sft", "lora", "rl"})  # often done within the hour


def is_surely_short(run: Run, limit_hours: float) -> bool:
    """Return whether a run is known to be short, or ends when a fault is fixed."""
    hours = run_hours(run)
    return run.role.value == "debug" or (hours is not None and hours <= limit_hours)


def is_long(plan: TrainingPlan, run: Run, limit_hours: float) -> str:
    """Return what makes the run long, in words; empty for one that is surely short.

    Raises MissingEvidence where neither the length nor the scale tells, nor what they
    are at least.
    """
    if run.is_trial or is_surely_short(run, limit_hours):
        return ""
    seconds = run_seconds(run)
    if seconds is not None:
        return duration(seconds)
    hours = least_hours(plan)
    if hours is not None and hours.number > limit_hours:
        return hours.in_words
    nodes = several_nodes(plan)
    if nodes is not None and run.role.value not in _FINE_TUNING:
        return f"unknown length on {nodes.in_words}"
    together, gpus = least_gpu_hours(plan), MOST_GPUS_PER_NODE
    world = least_gpus(plan)
    if world is not None and world.is_exact:
        gpus = int(world.number)
    if together is not None and together.number > limit_hours * gpus:
        return together.in_words
    run.hours.need()
    return ""
