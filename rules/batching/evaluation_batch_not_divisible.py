"""An evaluation batch that does not divide into micro-batches on every rank.

Why it hurts: the first evaluation comes hundreds of steps into the run. There the batch
is cut into micro-batches as in training, and a remainder stops the run or is omitted.

What passes: a multiple of the micro-batch of evaluation times the data-parallel ranks.

Where it does not apply: no batch of evaluation is stated; the training batch is used
then, and is judged by itself.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py; NVIDIA-NeMo/Megatron-Bridge
issue 1697.

Bad::

    # 64 data-parallel ranks
    --eval-global-batch-size 100 --eval-micro-batch-size 1

Good::

    --eval-global-batch-size 128 --eval-micro-batch-size 1
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="BATCH-030",
    frameworks=("megatron-lm",),
    about=("batch.evaluation_global_batch_size", "batch.evaluation_micro_batch_size"),
)
def evaluation_batch_not_divisible(
    batch: Batch, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge it % (micro x DP); sizes of training stand in for missing ones."""
    total, micro = batch.evaluation_global_batch_size, batch.evaluation_micro_batch_size
    total = total if total.places else batch.global_batch_size
    micro = micro if micro.places else batch.micro_batch_size
    ranks = parallelism.data_parallel_size
    size, unit = total.need(), micro.need() * ranks.or_else(1)
    at = [total, micro, ranks]
    if unit < 1:
        return
    if size % unit == 0:
        ranks.need()
        yield passed(at=at, measured=size, required=unit)
        return
    share = f" x {ranks.need():,} data-parallel ranks" if ranks.is_known else ""
    yield fail(
        f"evaluation batch {size:,} is not a multiple of micro-batch {micro.need()}"
        f"{share} = {unit:,}",
        at=at,
        measured=size,
        required=unit,
        cost="the first evaluation stops the run, or leaves samples out",
        remedy=f"Set the evaluation batch to {max(size // unit, 1) * unit:,}.",
        fix=rewritten(total, max(size // unit, 1) * unit, stated)
        if ranks.is_known and total is batch.evaluation_global_batch_size
        else None,
    )
