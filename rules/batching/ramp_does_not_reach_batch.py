"""A batch ramp whose steps do not lead to the global batch, or to whole micro-batches.

Why it hurts: --rampup-batch-size grows the batch from its start by an increment up to
the global batch. Megatron-LM asserts that the increments fill the distance, and, on the
step that reaches it, that each batch on the way divides over the ranks: a run can end
days after its start.

What passes: (global batch - start) as a multiple of the increment, and start and
increment as multiples of micro-batch x data-parallel ranks.

Where it does not apply: no ramp. With --decrease-batch-size-if-needed the batches on
the way are rounded down.

Source: NVIDIA/Megatron-LM megatron/core/num_microbatches_calculator.py
(RampupBatchsizeNumMicroBatchesCalculator).

Bad::

    # 64 data-parallel ranks
    --global-batch-size 1024 --micro-batch-size 1 --rampup-batch-size 96 48 300000

Good::

    --global-batch-size 1024 --micro-batch-size 1 --rampup-batch-size 64 64 300000
"""

from collections.abc import Iterator

from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FLAG, _ROUNDS = "--rampup-batch-size", "--decrease-batch-size-if-needed"
_COST = "Megatron-LM stops on an assertion, at start-up or at that step of the ramp"


@rule(clause="BATCH-001", frameworks=("megatron-lm",), about=("batch.mode",))
def ramp_does_not_reach_batch(
    batch: Batch, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the distance, then each batch on the way."""
    for key, start, step in _ramps(stated):
        total = batch.global_batch_size
        distance = total.need() - start
        at: list[Place | Value[int]] = [key.place, total]
        if step < 1 or start < 1 or distance < 0 or distance % step:
            yield fail(
                f"a ramp from {start:,} in steps of {step:,} does not reach the global "
                f"batch {total.need():,}: the distance is {distance:,}",
                at=at,
                measured=distance,
                required=step,
                cost=_COST,
                remedy="Choose a start below the global batch, and an increment that "
                f"divides {max(distance, 0):,}.",
            )
            continue
        if any(key.path == (_ROUNDS,) for file in stated.files for key in file.keys):
            yield passed("batches on the way are rounded down", at=at)
            continue
        ranks, micro = parallelism.data_parallel_size, batch.micro_batch_size
        unit = micro.need() * ranks.need()
        at += [micro, ranks]
        odd = [size for size in (start, start + step) if distance and size % unit]
        if not odd:
            yield passed(at=at, measured=step, required=unit)
            continue
        yield fail(
            f"the ramp passes a batch of {odd[0]:,}, which is no multiple of "
            f"micro-batch {micro.need()} x {ranks.need():,} data-parallel ranks = "
            f"{unit:,}",
            at=at,
            measured=odd[0],
            required=unit,
            cost=_COST,
            remedy=f"Use multiples of {unit:,} as start and increment.",
        )


def _ramps(stated: StatedKeys) -> Iterator[tuple[StatedKey, int, int]]:
    """Yield the ramps that are surely set: start and increment in samples."""
    for file in stated.files:
        for key in file.keys:
            if key.path != (_FLAG,) or not key.is_sure:
                continue
            parts = key.value if isinstance(key.value, list) else [key.value]
            words = " ".join(str(part) for part in parts).split()
            start, step, *_ = [*words, "", ""]
            if start.isdecimal() and step.isdecimal():
                yield key, int(start), int(step)
