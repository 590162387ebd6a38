"""Activations fill a large share of the GPU, and nothing is recomputed.

Why it hurts: activations grow with sequence and micro-batch. Kept for every layer they
leave no room for a larger batch, and the longest sequence ends the run.

What passes: selective or full recomputation, activations that stay below the share, or
a peak that fits with all of them.

Where it does not apply: mixture-of-experts models and others whose activations cannot
be counted are left open.

Source: Korthikanti et al. 2022 (arXiv:2205.05198); the count is lowered to what
compiled torchtitan runs keep (0.73).

Bad::

    micro_batch_size: 8
    sequence_len: 8192
    gradient_checkpointing: false

Good::

    gradient_checkpointing: true
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class ActivationShare(Numbers):
    """From which share of the GPU on activations dominate, and which the peak fits."""

    activation_share: float
    peak_share: float


@rule(clause="MEM-003", confidence="calibrated", needs=("memory.recompute_mode",))
def no_recomputation_where_activations_dominate(
    plan: TrainingPlan, limit: ActivationShare
) -> Verdicts:
    """Judge what one rank keeps for the backward pass."""
    recompute = plan.value("memory.recompute_mode")
    if recompute.need() != "none":
        yield passed(at=recompute)
        return
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    # Dear, and few plans come this far.
    from speccheck.validator.forecast.memory import memory_forecast  # noqa: PLC0415

    forecast = memory_forecast(plan)
    quantity, total = forecast.named("activations"), forecast.named("total").estimate
    states = forecast.named("states").estimate
    kept, allowed = quantity.need(), limit.activation_share * capacity
    fitting = limit.peak_share * capacity
    others = 0.0 if states is None else states.lower
    at = [
        recompute,
        plan.value("batch.micro_batch_size"),
        plan.value("batch.sequence_length"),
    ]
    if kept.upper <= allowed:
        yield passed(at=at, measured=kept.upper, required=allowed)
    elif total is not None and total.upper <= fitting:
        yield passed(at=at, measured=total.upper, required=fitting)
    elif kept.kind == "calibrated" and kept.value > max(allowed, fitting - others):
        yield fail(
            f"activations take about {gigabytes(kept.value)} ({quantity.note}), "
            "more than "
            f"{limit.activation_share:.0%} of {gigabytes(capacity)} = "
            f"{gigabytes(allowed)}, and the peak does not fit with them",
            at=at,
            measured=kept.value,
            required=allowed,
            cost="no room for a larger batch; the longest sequence runs out of memory",
        )
    else:
        yield unknown(
            f"activations take at least {gigabytes(kept.lower)} of "
            f"{gigabytes(allowed)}",
            missing=("kernels.attention_backend", "model.feed_forward_size"),
            at=at,
        )
