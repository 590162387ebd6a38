"""Weights, gradients and optimizer state alone are larger than a GPU.

Why it hurts: the job is granted its nodes, loads the model and dies on the first
allocation that does not fit. No batch size helps, since activations are not even
counted.

What passes: the peak, estimated from above, fits into the share of memory that the
clause leaves to it; where no file says what is sharded, with nothing sharded. It fails
where the lower bound alone is more. Between them it is unknown, with both numbers.

Where it does not apply: a model that nothing shards is judged by its own rule.

Source: Rajbhandari et al. 2020 (arXiv:1910.02054), state of each parameter by stage;
NVIDIA/Megatron-LM megatron/training/theoretical_memory_usage.py; Korthikanti et al.
2022 (arXiv:2205.05198). No published reading of 230 leaves the bounds.

Bad::

    # 30 billion parameters, 64 GPUs of 80 GB
    "zero_optimization": {"stage": 1}

Good::

    "zero_optimization": {"stage": 3}
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.memory import memory_forecast, peak_however_sharded
from speccheck.validator.forecast.plan_facts import is_cut, trains_adapter
from speccheck.validator.forecast.quantity import Forecast
from speccheck.validator.models.training_memory import FEWEST_SHARE
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class MemoryShare(Numbers):
    """What states, activations and buffers may take together."""

    peak_share: float
    model_tolerance: float


@rule(
    clause="MEM-001",
    confidence="lower_bound",
    needs=("cluster.accelerator_memory_bytes",),
)
def model_states_exceed_memory(plan: TrainingPlan, limit: MemoryShare) -> Verdicts:
    """Judge the lower bound of the peak, then the upper one."""
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    forecast = memory_forecast(plan)
    available = limit.peak_share * capacity
    at = [plan.value(name) for name in _PLACES]
    either = peak_however_sharded(plan)
    if either and either.upper * (1 + limit.model_tolerance) <= available:
        most = gigabytes(either.upper)
        yield passed(f"at most {most} of {gigabytes(available)}, sharded or not", at=at)
        return
    total, states = forecast.named("total"), forecast.named("states").need()
    peak = total.need()
    is_adapter = trains_adapter(plan)
    least = peak.lower * (_least_share(plan) if is_adapter else 1)
    if least > available:
        if states.lower <= available or is_adapter or is_cut(plan):
            parts = _arithmetic(forecast)
            yield fail(
                f"one GPU holds at least {gigabytes(least)} ({parts}); of its "
                f"{gigabytes(capacity)} a job can use {limit.peak_share:.0%}, "
                f"{gigabytes(available)}",
                at=at,
                measured=least,
                required=available,
                cost="the job runs out of memory before the first step ends",
                remedy="" if plan.value("model.adapter").is_known else _REMEDY,
            )
        return
    if peak.upper * (1 + limit.model_tolerance) <= available:
        most = f"at most {gigabytes(peak.upper)} of {gigabytes(available)}"
        yield passed(most, at=at, measured=peak.upper, required=available)
        return
    known = f"one GPU holds at least {gigabytes(peak.lower)} of {gigabytes(available)}"
    missing = total.missing
    if peak.lower > available:
        known += ", unless its frozen weights are in 4 bits or lie on several GPUs"
        missing = ("model.quantized_bits", "parallelism.data_parallel_size")
    elif not missing and peak.upper < float("inf"):
        known += f", at most {gigabytes(peak.upper)}: too close to tell"
    yield unknown(known, missing=missing, at=at)


def _least_share(plan: TrainingPlan) -> float:
    """Return how much of the bound is sure for adapters on a frozen base.

    Where no file says in how many bits the base is loaded it may be four, and where
    none says how many ranks hold it, it may lie on all GPUs of a node.
    """
    is_known = plan.value("model.quantized_bits").is_known
    share = 1.0 if is_known else FEWEST_SHARE
    if is_cut(plan) or plan.value("parallelism.data_parallel_size").is_known:
        return share
    gpus: int = plan.value("cluster.gpus_per_node").need()
    return share / gpus


_PLACES = (
    "parallelism.sharding_stage",
    "parallelism.tensor_parallel_size",
    "parallelism.pipeline_parallel_size",
    "model.parameters",
    "model.hidden_size",
    "model.layers",
)
_REMEDY = (
    "Shard weights, gradients and optimizer state over more ranks. "
    "If adapters alone are trained, say so: --role lora."
)


def _arithmetic(forecast: Forecast) -> str:
    """Return the parts of the lower bound, each with its numbers."""
    states, kept = forecast.named("states"), forecast.named("activations")
    text = f"states {gigabytes(states.need().lower)}: {states.note}"
    if kept.estimate is not None and kept.estimate.lower:
        text += f"; layer inputs {gigabytes(kept.estimate.lower)}: {kept.note}"
    return text
