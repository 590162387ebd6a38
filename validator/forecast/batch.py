"""Tokens of a step and of a micro-batch, and the batch that is worth its samples."""

from collections.abc import Callable

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast._job import (
    micro_batch_tokens,
    model_of,
    of_sizes,
    step_tokens,
)
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.models.batch import converged_loss, critical_batch_tokens
from speccheck.validator.models.estimate import Estimate, exactly


def batch_forecast(plan: TrainingPlan) -> Forecast:
    """Return what one step and one rank work on, and the critical batch."""
    sized = of_sizes(plan)
    return Forecast(
        "batch",
        (
            _quantity("step_tokens", sized, _of_step),
            _quantity("micro_batch_tokens", sized, _of_micro_batch),
            _quantity("critical_batch", sized, _critical),
        ),
    )


def _quantity(
    name: str,
    plan: TrainingPlan,
    make: Callable[[TrainingPlan], tuple[Estimate, str]],
) -> Quantity:
    try:
        estimate, note = make(plan)
    except MissingEvidence as lack:
        return Quantity(name, "tokens", None, (lack.name,), lack.reason)
    return Quantity(name, "tokens", estimate, (), note)


def _of_step(plan: TrainingPlan) -> tuple[Estimate, str]:
    samples = plan.value("batch.global_batch_size").need()
    length = plan.value("batch.sequence_length").need()
    return step_tokens(plan), f"{samples:,} samples x {length:,} tokens"


def _of_micro_batch(plan: TrainingPlan) -> tuple[Estimate, str]:
    tokens = micro_batch_tokens(plan)
    return exactly(tokens, "micro-batch x sequence / context ranks"), "on each rank"


def _critical(plan: TrainingPlan) -> tuple[Estimate, str]:
    """Return the critical batch at the loss that the model reaches with enough data."""
    stated = plan.value("model.parameters").value
    parameters = float(stated) if stated else model_of(plan).active.value
    loss = converged_loss(parameters)
    note = f"{parameters / 1e9:,.1f} billion parameters, loss {loss.value:.2f}"
    return critical_batch_tokens(loss.value), note
