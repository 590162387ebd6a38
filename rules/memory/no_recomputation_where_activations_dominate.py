"""Activations fill a large share of the GPU, and nothing is recomputed.

Why it hurts: activations grow with sequence and micro-batch. Kept for every layer they
leave no room for a larger batch, and the longest sequence ends the run.

What passes: selective or full recomputation, or activations that stay below the share.

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

from speccheck.rules.memory._estimate import degree, dimensions_of, work_of
from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.activation_memory import (
    least_layer_bytes,
    most_layer_bytes,
)
from speccheck.validator.models.state_memory import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class ActivationShare(Numbers):
    """From which share of the GPU on activations dominate."""

    activation_share: float


@rule(clause="MEM-003", confidence="calibrated")
def no_recomputation_where_activations_dominate(
    plan: TrainingPlan, limit: ActivationShare
) -> Verdicts:
    """Judge what one rank keeps for the backward pass."""
    recompute = plan.value("memory.recompute_mode")
    if recompute.need() != "none":
        yield passed(at=recompute)
        return
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    dimensions = dimensions_of(plan)
    if dimensions is None:
        name, reason = "model.layers", "the dimensions of a dense transformer"
        raise MissingEvidence(name, reason)
    work = work_of(plan)
    layers = dimensions.layers // degree(plan, "pipeline_parallel_size")
    held = layers * work.micro_batches_in_flight
    least = held * least_layer_bytes(dimensions, work)
    most = most_layer_bytes(dimensions, work)
    allowed = limit.activation_share * capacity
    at = [
        recompute,
        plan.value("batch.micro_batch_size"),
        plan.value("batch.sequence_length"),
    ]
    if least > allowed:
        yield fail(
            f"activations of {layers} layers take at least {gigabytes(least)} without "
            f"recomputation, more than {limit.activation_share:.0%} of "
            f"{gigabytes(capacity)} = {gigabytes(allowed)}",
            at=at,
            measured=least,
            required=allowed,
            cost="no room for a larger batch; the longest sequence runs out of memory",
        )
    elif most is not None and held * most <= allowed:
        yield passed(at=at, measured=held * most, required=allowed)
    else:
        yield unknown(
            f"activations take at least {gigabytes(least)} of {gigabytes(allowed)}",
            missing=("kernels.attention_backend", "model.feed_forward_size"),
            at=at,
        )
