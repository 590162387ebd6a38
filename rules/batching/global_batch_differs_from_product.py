"""The stated global batch is not micro-batch x accumulation x data-parallel ranks.

Why it hurts: DeepSpeed asserts the identity and stops. Frameworks that do not assert it
train with another batch than the one you wrote, and the learning rate no longer fits.

What passes: the exact product.

Where it does not apply: one of the three is left to the framework; elastic batches.

Source: DeepSpeed runtime/config.py (_batch_assertion).

Bad::

    # 32 GPUs
    "train_batch_size": 512,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 8

Good::

    "train_batch_size": 1024,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 8
"""

from speccheck.rules.batching._product import states_no_total
from speccheck.validator.evidence.plan import Batch, Cluster, Parallelism
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule


@rule(clause="BATCH-001", about=("batch.global_batch_size",))
def global_batch_differs_from_product(
    batch: Batch, parallelism: Parallelism, cluster: Cluster
) -> Verdicts:
    """Judge the identity; a number of ranks that cannot be proves a fault too."""
    total, steps = batch.global_batch_size, batch.gradient_accumulation_steps
    if states_no_total(batch):
        return
    if steps.status != "stated" or batch.mode.value == "elastic":
        return
    size, micro, repeats = total.need(), batch.micro_batch_size.need(), steps.need()
    share = micro * repeats
    ranks = parallelism.data_parallel_size
    if ranks.is_known:
        yield _by_ranks(batch, parallelism, share * ranks.need())
        return
    needed, rest = divmod(size, share)
    at = [total, batch.micro_batch_size, steps, cluster.world_size]
    product = f"micro-batch {micro} x accumulation {repeats} = {share:,}"
    if rest:
        yield fail(
            f"global batch {size:,} is not a multiple of {product}: it holds for no "
            "number of ranks",
            at=at,
            measured=size,
            required=share,
            cost=_COST,
            remedy=_remedy(share, needed),
        )
        return
    world_size = cluster.world_size.need()
    if world_size % needed == 0:
        ranks.need()
    yield fail(
        f"global batch {size:,} / ({product}) needs {needed:,} data-parallel ranks, "
        f"and {world_size:,} GPUs do not give that number",
        at=at,
        measured=needed,
        required=world_size,
        cost=_COST,
        remedy=_remedy(share, world_size),
    )


_COST = "DeepSpeed stops at start-up; others train with another batch than stated"


def _by_ranks(batch: Batch, parallelism: Parallelism, product: int) -> Verdict:
    total, micro = batch.global_batch_size, batch.micro_batch_size
    steps, ranks = batch.gradient_accumulation_steps, parallelism.data_parallel_size
    at = [total, micro, steps, ranks]
    size = total.need()
    if size == product:
        return passed(at=at, measured=size, required=product)
    return fail(
        f"global batch {size:,} is not micro-batch {micro.value} x accumulation "
        f"{steps.value} x {ranks.need():,} data-parallel ranks = {product:,}",
        at=at,
        measured=size,
        required=product,
        cost=_COST,
        remedy=f"Set the global batch to {product:,}, or leave one of the three out.",
    )


def _remedy(share: int, ranks: int) -> str:
    return (
        f"Set the global batch to {share * max(ranks, 1):,} "
        f"({share:,} x {max(ranks, 1):,} ranks), or leave one of the three out."
    )
