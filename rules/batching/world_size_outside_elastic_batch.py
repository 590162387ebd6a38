"""A world size that DeepSpeed's elastic batch cannot be divided over.

Why it hurts: elastic mode works out one batch for all world sizes, from the micro-batch
sizes and the largest batch. On any other number of GPUs DeepSpeed stops at start-up
with ElasticityIncompatibleWorldSize.

What passes: a number of data-parallel ranks from DeepSpeed's own list.

Where it does not apply: elasticity off. Version 0.2 and files without a version, whose
default changed, are left open; so are micro-batches whose common multiple exceeds the
largest batch, which releases treat differently.

Source: deepspeedai/DeepSpeed deepspeed/elasticity/elasticity.py.

Bad::

    # 8 GPUs
    "elasticity": {"enabled": true, "version": 0.1,
                   "max_train_batch_size": 32, "micro_batch_sizes": [2, 4]}

Good::

    # 12 GPUs
    "elasticity": {"enabled": true, "version": 0.1,
                   "max_train_batch_size": 32, "micro_batch_sizes": [2, 4]}
"""

from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.models.elasticity import (
    FIRST_VERSION,
    Elastic,
    elastic_batch,
    is_settled,
)
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_SECTION = "elasticity"
_SIZES = (_SECTION, "micro_batch_sizes")
_SHOWN = 2  # counts of GPUs near those that were found


@rule(clause="BATCH-022", about=("batch.mode",))
def world_size_outside_elastic_batch(
    batch: Batch, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the data-parallel ranks of an elastic DeepSpeed plan."""
    for file in stated.files:
        if file.format == "deepspeed" and batch.mode.value == "elastic":
            yield from _judged(file, batch, parallelism)


def _judged(file: KeyedFile, batch: Batch, parallelism: Parallelism) -> Verdicts:
    elastic = _elastic(file)
    if elastic is None or not is_settled(elastic):
        reason = "which batch DeepSpeed works out of this section is not settled"
        yield unknown(reason, missing=("run.framework_version",), at=batch.mode)
        return
    size = parallelism.data_parallel_size
    ranks, result = size.need(), elastic_batch(elastic)
    assert result is not None  # noqa: S101 - settled: no micro-batch exceeds the limit
    at: list[Place | Value[int]] = [size]
    at[:0] = [key.place for key in file.keys if key.path == _SIZES]
    if ranks in result.world_sizes:
        yield passed(at=at, measured=ranks)
        return
    near = sorted(result.world_sizes, key=lambda world_size: abs(world_size - ranks))[
        :_SHOWN
    ]
    names = ", ".join(f"{number:,}" for number in sorted(near)) or "none"
    yield fail(
        f"{ranks:,} data-parallel ranks; the elastic batch of {result.batch:,} goes "
        f"into whole micro-batches on other counts, nearest {names}",
        at=at,
        measured=ranks,
        required=names,
        cost="DeepSpeed stops at start-up",
    )


def _elastic(file: KeyedFile) -> Elastic | None:
    """Return the section as DeepSpeed takes it; None where something is not plain."""
    result = {
        key.path[1]: key.value
        for key in file.keys
        if key.path[0] == _SECTION and len(key.path) > 1
    }
    sizes, most = result.get("micro_batch_sizes"), result.get("max_train_batch_size")
    if result.get("version") != FIRST_VERSION or not isinstance(sizes, list):
        return None
    plain = Elastic((), 0)
    fewest = result.get("min_gpus", plain.fewest_gpus)
    greatest = result.get("max_gpus", plain.most_gpus)
    numbers = [*sizes, most, fewest, greatest]
    if not sizes or not all(type(number) is int and number > 0 for number in numbers):
        return None
    larger = result.get("prefer_larger_batch", True) is True
    return Elastic(tuple(sizes), int(str(most)), fewest, greatest, larger)  # type: ignore[arg-type]
