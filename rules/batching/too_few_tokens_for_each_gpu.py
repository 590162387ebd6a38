"""Micro-batches of so few tokens that GPUs wait for their weights.

Why it hurts: a matrix product reads its weights once, however few tokens it multiplies.
Below some hundred tokens reading takes longer than computing, and sharded weights are
gathered for little work.

What passes: at least the tokens of the clause on each rank.

Where it does not apply: small jobs, and runs that do not pretrain, whose samples are
what they are.

Source: operations for each byte of an H100, 989 TFLOPS over 3.35 TB/s (data sheet).

Bad::

    --micro-batch-size 1 --seq-length 2048 --context-parallel-size 4

Good::

    --micro-batch-size 2 --seq-length 2048 --context-parallel-size 1
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.batch import batch_forecast
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Tokens(Numbers):
    """The fewest tokens of a micro-batch on one rank."""

    tokens_min: float


@rule(clause="BATCH-020", confidence="advisory")
def too_few_tokens_for_each_gpu(plan: TrainingPlan, limit: Tokens) -> Verdicts:
    """Judge the tokens that one rank works on at once."""
    tokens = batch_forecast(plan).named("micro_batch_tokens").need().value
    names = (
        "batch.micro_batch_size",
        "batch.sequence_length",
        "parallelism.context_parallel_size",
    )
    at = [plan.value(name) for name in names]
    if tokens >= limit.tokens_min:
        yield passed(at=at, measured=tokens, required=limit.tokens_min)
        return
    yield fail(
        f"{tokens:,.0f} tokens are in a micro-batch of one rank; at least "
        f"{limit.tokens_min:,.0f} keep the GPU computing",
        at=at,
        measured=tokens,
        required=limit.tokens_min,
        cost="matrix products wait for their weights",
    )
