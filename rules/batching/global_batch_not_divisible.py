"""A global batch that does not divide into micro-batches on every rank.

Why it hurts: accumulation is global batch / (micro-batch x ranks). With a remainder
Megatron-LM and torchtitan stop; frameworks that round down train with a smaller batch
and say nothing.

What passes: a global batch that is a multiple of micro-batch x data-parallel ranks.

Where it does not apply: accumulation is stated as well (the product is judged then);
elastic batches; the global batch follows from the other numbers.

Source: NVIDIA/Megatron-LM megatron/core/num_microbatches_calculator.py.

Bad::

    # 16 data-parallel ranks
    --micro-batch-size 2 --global-batch-size 1000

Good::

    --micro-batch-size 2 --global-batch-size 1024
"""

from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="BATCH-001")
def global_batch_not_divisible(batch: Batch, parallelism: Parallelism) -> Verdicts:
    """Judge global % (micro x DP)."""
    total, ranks = batch.global_batch_size, parallelism.data_parallel_size
    if total.status in {"derived", "default"} or not total.places:
        return
    if batch.gradient_accumulation_steps.status == "stated":
        return
    if batch.mode.value == "elastic":
        return
    size, micro = total.need(), batch.micro_batch_size.need()
    at = [total, batch.micro_batch_size, ranks]
    count = ranks.or_else(1)
    unit = micro * count
    if size % unit == 0:
        ranks.need()
        yield passed(at=at, measured=size, required=unit)
        return
    found = f"global batch {size:,} is not a multiple of micro-batch {micro}"
    if ranks.is_known:
        found += f" x {count:,} data-parallel ranks = {unit:,}"
    below = size // unit * unit
    near = f"{below:,} or {below + unit:,}" if below else f"{unit:,}"
    yield fail(
        found,
        at=at,
        measured=size,
        required=unit,
        cost="the run stops at start-up, or trains with a smaller batch than stated",
        remedy=f"Set the global batch to {near}.",
    )
