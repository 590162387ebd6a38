"""Weights, gradients and optimizer state alone are larger than a GPU.

Why it hurts: the job is granted its nodes, loads the model and dies on the first
allocation that does not fit. No batch size helps, since activations are not even
counted.

What passes: the peak of states, activations and logits, estimated from above, fits into
the share of memory that the clause leaves to it. Between that and the lower bound the
answer is unknown, with both numbers.

Where it does not apply: adapters on a frozen base are never failed, only passed or left
open. A model that nothing shards is judged by its own rule.

Source: Rajbhandari et al. 2020 (arXiv:1910.02054), state of each parameter by stage;
NVIDIA/Megatron-LM megatron/training/theoretical_memory_usage.py; Korthikanti et al.
2022 (arXiv:2205.05198). The lower bound is at or below each of 197 published
readings, the upper bound with the tolerance at or above each of 191.

Bad::

    # 30 billion parameters, 64 GPUs of 80 GB
    "zero_optimization": {"stage": 1}

Good::

    "zero_optimization": {"stage": 3}
"""

from speccheck.rules.memory._estimate import Estimate, estimate, trains_adapter
from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.models.state_memory import billions, gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class MemoryShare(Numbers):
    """What states, activations and buffers may take together."""

    peak_share: float
    model_tolerance: float


@rule(clause="MEM-001", confidence="lower_bound")
def model_states_exceed_memory(plan: TrainingPlan, limit: MemoryShare) -> Verdicts:
    """Judge the lower bound of the states, then the upper bound of the peak."""
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    found = estimate(plan)
    available = limit.peak_share * capacity
    least = found.states.least
    at = [plan.value(name) for name in _PLACES]
    shared = found.sharding.model_ranks > 1 or found.sharding.stage > 0
    if least > available and not trains_adapter(plan):
        if shared:
            yield fail(
                f"model states take at least {gigabytes(least)} on each GPU "
                f"({_arithmetic(found)}); {limit.peak_share:.0%} of "
                f"{gigabytes(capacity)} is {gigabytes(available)}",
                at=at,
                measured=least,
                required=available,
                cost="the job runs out of memory before the first step ends, after the "
                "nodes are yours",
                remedy="Shard more: ZeRO stage 3 or FSDP cuts weights, gradients and "
                "optimizer state over all data-parallel ranks; tensor and pipeline "
                "ranks cut them as well.",
            )
        return
    peak = found.peak
    if peak is not None and peak.most * (1 + limit.model_tolerance) <= available:
        yield passed(
            f"at most {gigabytes(peak.most)} of {gigabytes(available)}",
            at=at,
            measured=peak.most,
            required=available,
        )
        return
    known = f"model states take at least {gigabytes(least)} of {gigabytes(available)}"
    if peak is not None:
        known += f", the peak at most {gigabytes(peak.most)}: too close to tell"
    yield unknown(known, missing=found.missing, at=at)


_PLACES = (
    "parallelism.sharding_stage",
    "parallelism.tensor_parallel_size",
    "parallelism.pipeline_parallel_size",
    "model.parameters",
    "model.hidden_size",
    "model.layers",
)


def _arithmetic(found: Estimate) -> str:
    cut = found.sharding.model_ranks
    each = found.states.least * cut / found.parameters.least
    text = f"{billions(found.parameters.least)} parameters x {each:.1f} bytes"
    if found.sharding.stage:
        text += f" at stage {found.sharding.stage} over {found.sharding.shard_ranks:,}"
    return f"{text} / {cut} model-parallel ranks" if cut > 1 else text
