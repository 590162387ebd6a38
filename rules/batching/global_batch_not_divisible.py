"""A global batch that does not divide into micro-batches on every rank.

Why it hurts: accumulation is global batch / (micro-batch x ranks). With a remainder
Megatron-LM and torchtitan stop; frameworks that round down train with a smaller batch
and say nothing.

What passes: a global batch that is a multiple of micro-batch x data-parallel ranks; of
the ranks alone where the framework cuts a rank's share into micro-batches of at most
the stated size (LLM Foundry, OLMo).

Where it does not apply: accumulation is stated as well (the product is judged then);
elastic batches; the global batch follows from the other numbers.

Source: NVIDIA/Megatron-LM megatron/core/num_microbatches_calculator.py;
mosaicml/llm-foundry llmfoundry/utils/config_utils.py (calculate_batch_size_info).

Bad::

    # 16 data-parallel ranks
    --micro-batch-size 2 --global-batch-size 1000

Good::

    --micro-batch-size 2 --global-batch-size 1024
"""

from speccheck.rules.batching._product import states_no_total
from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="BATCH-001", about=("batch.global_batch_size",))
def global_batch_not_divisible(batch: Batch, parallelism: Parallelism) -> Verdicts:
    """Judge global % (micro x DP)."""
    total, ranks = batch.global_batch_size, parallelism.data_parallel_size
    if states_no_total(batch):
        return
    if batch.gradient_accumulation_steps.status == "stated":
        return
    if batch.mode.value == "elastic":
        return
    is_uneven = batch.uneven_micro_batches.value is True
    size = total.need()
    micro = 1 if is_uneven else batch.micro_batch_size.need()
    at = [total, ranks] if is_uneven else [total, batch.micro_batch_size, ranks]
    count = ranks.need() if is_uneven else ranks.or_else(1)
    unit = micro * count
    if unit < 1:
        return  # a batch that no framework takes
    if size % unit == 0:
        ranks.need()
        yield passed(at=at, measured=size, required=unit)
        return
    text = f"global batch {size:,} is not a multiple of "
    text += "" if is_uneven else f"micro-batch {micro}"
    if is_uneven:
        text += f"the {count:,} data-parallel ranks: {size % count:,} samples are left"
    elif ranks.is_known:
        text += f" x {count:,} data-parallel ranks = {unit:,}"
    below = size // unit * unit
    near = f"{below:,} or {below + unit:,}" if below else f"{unit:,}"
    yield fail(
        text,
        at=at,
        measured=size,
        required=unit,
        cost="the run stops at start-up, or trains with a smaller batch than stated",
        remedy=f"Set the global batch to {near}.",
    )
