"""What forecasts and rules ask of a plan before any model is at hand."""

from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.units import hours_in, seconds_in


def trains_adapter(plan: TrainingPlan) -> bool:
    """Return whether all but a small part is frozen, by key or by role.

    Raises MissingEvidence where a program sets it, out of sight.
    """
    adapter = plan.value("model.adapter")
    if not adapter.is_known:
        is_adapter = plan.value("run.role").value == "lora"
        if adapter.places and not is_adapter:
            raise MissingEvidence(adapter.name, adapter.note)
        return is_adapter
    return bool(adapter.value != "none")


def degree(plan: TrainingPlan, field: str) -> int:
    """Return a degree of parallelism; raises MissingEvidence where it is not known.

    A DeepSpeed or DDP file that says nothing of tensor or pipeline parallelism runs
    without, unless a Megatron-LM script stands beside it, which then states them.
    Expert parallelism and Ulysses are off unless something turns them on.
    """
    leaf = plan.value(f"parallelism.{field}")
    is_silent = leaf.status == "unknown" and not leaf.places
    plain = plan.value("parallelism.engine").value in {"deepspeed", "ddp"}
    if is_silent and (plain or field in {"expert_parallel_size", "ulysses_size"}):
        return 1
    return max(int(leaf.need()), 1)


def stage_of(plan: TrainingPlan) -> int:
    """Return what is sharded, as a ZeRO stage; raises MissingEvidence if not known."""
    leaf = plan.value("parallelism.sharding_stage")
    is_megatron = plan.value("parallelism.engine").value == "megatron"
    if not leaf.is_known and is_megatron:
        return 1 if plan.value("optimizer.is_distributed").need() else 0
    return int(leaf.need())


def is_cut(plan: TrainingPlan) -> bool:
    """Return whether ranks share the states; raises MissingEvidence if not known."""
    degrees = (f"{part}_parallel_size" for part in ("tensor", "pipeline", "expert"))
    if any(plan.value(f"parallelism.{name}").or_else(1) > 1 for name in degrees):
        return True
    return stage_of(plan) > 0


def save_interval_seconds(checkpoint: Checkpoint, run: Run) -> float:
    """Return the time between two saves of the most frequent tier.

    Raises MissingEvidence where an interval in steps has no step time beside it.
    """
    local = checkpoint.local_interval_steps
    steps = local if local.is_known else checkpoint.interval_steps
    if checkpoint.interval_seconds.is_known and not local.is_known:
        return checkpoint.interval_seconds.need()
    return steps.need() * run.step_seconds.need()


def run_seconds(run: Run) -> float | None:
    """Return the expected length of the run: stated, or steps times step time."""
    if run.hours.value is not None:
        return seconds_in(run.hours.value)
    if run.steps.value is not None and run.step_seconds.value is not None:
        return run.steps.value * run.step_seconds.value
    return None


def run_hours(run: Run) -> float | None:
    """Return the same in hours."""
    seconds = run_seconds(run)
    return None if seconds is None else hours_in(seconds)
