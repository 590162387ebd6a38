"""What forecasts and rules ask of a plan before any model is at hand."""

from speccheck.validator.evidence.training_plan import TrainingPlan


def trains_adapter(plan: TrainingPlan) -> bool:
    """Whether all but a small part is frozen; the role tells where no key does."""
    adapter = plan.value("model.adapter")
    if not adapter.is_known:
        return bool(plan.value("run.role").value == "lora")
    return bool(adapter.value != "none")


def degree(plan: TrainingPlan, field: str) -> int:
    """A degree of parallelism; raises MissingEvidence where it is not known.

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
