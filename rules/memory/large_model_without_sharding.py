"""A model too large for one GPU, and nothing that shards it.

Why it hurts: plain data parallelism keeps a whole copy of weights, gradients and
optimizer state on each GPU. Such a plan cannot start on any number of nodes.

What passes: states that fit into one GPU, or any sharding: ZeRO, FSDP, a distributed
optimizer, tensor or pipeline parallelism, offload.

Where it does not apply: adapters on a frozen base.

Source: Rajbhandari et al. 2020 (arXiv:1910.02054); the states are a lower bound.

Bad::

    # 8 billion parameters with AdamW on GPUs of 80 GB
    "zero_optimization": {"stage": 0}

Good::

    "zero_optimization": {"stage": 2}
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.plan_facts import degree, is_cut, trains_adapter
from speccheck.validator.models.units import billions, gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class MemoryShare(Numbers):
    """What the model states may take of one GPU."""

    peak_share: float


@rule(clause="MEM-002", confidence="lower_bound")
def large_model_without_sharding(plan: TrainingPlan, limit: MemoryShare) -> Verdicts:
    """Judge the unsharded states where nothing shards them."""
    if trains_adapter(plan):
        return
    stated = [plan.value(name) for name in _SHARDING]
    sharded = [leaf for leaf in stated if leaf.or_else(0) > _WHOLE[leaf.name]]
    offloads = [plan.value(name) for name in _OFFLOADS]
    offloads = [leaf for leaf in offloads if leaf.or_else("none") != "none"]
    if sharded or offloads:
        yield passed("sharding is declared", at=[*sharded, *offloads])
        return
    if is_cut(plan):
        yield passed("sharding is declared", at=plan.value("optimizer.is_distributed"))
        return
    degree(plan, "tensor_parallel_size")
    degree(plan, "pipeline_parallel_size")
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    # Dear, and most large models are sharded.
    from speccheck.validator.forecast.memory import unsharded_states  # noqa: PLC0415

    parameters, states = unsharded_states(plan)
    least, available = states.lower, limit.peak_share * capacity
    at = [
        *stated,
        plan.value("optimizer.is_distributed"),
        plan.value("model.parameters"),
        plan.value("model.hidden_size"),
        plan.value("model.layers"),
    ]
    taken = f"unsharded model states take at least {gigabytes(least)}"
    if least > capacity:
        yield fail(
            f"{taken} ({billions(parameters.lower)} parameters x "
            f"{least / parameters.lower:.0f} bytes) on each GPU, which has "
            f"{gigabytes(capacity)}, and nothing shards them",
            at=at,
            measured=least,
            required=capacity,
            cost="the job runs out of memory while it builds the optimizer",
        )
    elif states.upper > available:
        known = f"{taken}, at most {gigabytes(states.upper)}, of {gigabytes(available)}"
        yield unknown(known, missing=("optimizer.name_of_optimizer",), at=at)
    else:
        yield passed(
            f"unsharded model states take at most {gigabytes(states.upper)} of "
            f"{gigabytes(available)}",
            at=at,
            measured=states.upper,
            required=available,
        )


_WHOLE = {
    "parallelism.sharding_stage": 0,
    "parallelism.tensor_parallel_size": 1,
    "parallelism.pipeline_parallel_size": 1,
    "parallelism.expert_parallel_size": 1,
}
_SHARDING = tuple(_WHOLE)
_OFFLOADS = ("memory.parameter_offload_device", "memory.optimizer_offload_device")
