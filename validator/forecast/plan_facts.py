"""What forecasts and rules ask of a plan before any model is at hand."""

from speccheck.validator.evidence.plan import TrainingPlan


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


def stage_of(plan: TrainingPlan) -> int:
    """What is sharded, as a ZeRO stage; raises MissingEvidence when not known."""
    leaf = plan.value("parallelism.sharding_stage")
    is_megatron = plan.value("parallelism.engine").value == "megatron"
    if not leaf.is_known and is_megatron:
        return 1 if plan.value("optimizer.is_distributed").need() else 0
    return int(leaf.need())


def is_cut(plan: TrainingPlan) -> bool:
    """Whether ranks share the states; raises MissingEvidence where it is not known."""
    degrees = (f"{part}_parallel_size" for part in ("tensor", "pipeline", "expert"))
    if any(plan.value(f"parallelism.{name}").or_else(1) > 1 for name in degrees):
        return True
    return stage_of(plan) > 0
