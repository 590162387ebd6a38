"""A global batch beyond the size at which more samples save steps.

Why it hurts: up to the critical batch, twice the samples halve the steps; beyond it
they hardly save any. Each step then costs tokens, time and energy that teach little.

What passes: tokens of the batch within the factor of the clause of the critical batch,
at the loss that a model of that size can reach.

Where it does not apply: small jobs, and runs that do not pretrain.

Source: McCandlish et al. 2018 (arXiv:1812.06162); the fit of Kaplan et al. 2020
(arXiv:2001.08361). Other data and optimizers move it: this is advice.

Bad::

    # a model of 1 billion parameters
    --global-batch-size 8192 --seq-length 8192

Good::

    --global-batch-size 512 --seq-length 8192
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.batch import batch_forecast
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class CriticalBatch(Numbers):
    """How far beyond the critical batch a batch may be."""

    batch_factor: float


@rule(clause="BATCH-021", confidence="advisory")
def batch_beyond_critical_size(plan: TrainingPlan, limit: CriticalBatch) -> Verdicts:
    """Judge the tokens of a step by the size of the model."""
    forecast = batch_forecast(plan)
    tokens = forecast.named("step_tokens").need().value
    critical = forecast.named("critical_batch")
    most = limit.batch_factor * critical.need().value
    at = [
        plan.value(f"batch.{name}") for name in ("global_batch_size", "sequence_length")
    ]
    if tokens <= most:
        yield passed(at=at, measured=tokens, required=most)
        return
    yield fail(
        f"{tokens:,.0f} tokens are in a batch; {limit.batch_factor:g} x the critical "
        f"batch ({critical.note}) are {most:,.0f}",
        at=at,
        measured=tokens,
        required=most,
        cost="steps that teach little for their tokens",
    )
