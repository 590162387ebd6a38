"""A group of micro-batches that the interleaved schedule cannot work in.

Why it hurts: --microbatch-group-size-per-virtual-pipeline-stage sets how many
micro-batches run through one chunk before the next. Fewer than the stages, more than
there are, or a rest that is smaller than the stages: each raises on the first step.

What passes: a group from the number of stages up to that of the micro-batches, and a
rest of none or of at least the stages.

Where it does not apply: no group size is set, or nothing is interleaved.

Source: NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py
(forward_backward_pipelining_with_interleaving).

Bad::

    # 8 stages, 20 micro-batches: 20 % 16 = 4 are left
    --microbatch-group-size-per-virtual-pipeline-stage 16

Good::

    # 8 stages, 32 micro-batches
    --microbatch-group-size-per-virtual-pipeline-stage 16
"""

from collections.abc import Iterator

from speccheck.validator.evidence.mending import without_keys
from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKey, StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FLAG = "--microbatch-group-size-per-virtual-pipeline-stage"


@rule(
    clause="BATCH-001",
    frameworks=("megatron-lm",),
    about=("parallelism.virtual_stages", "parallelism.layers_per_virtual_stage"),
)
def micro_batch_group_out_of_range(
    batch: Batch, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge stages <= group <= micro-batches, and the rest."""
    for key in _groups(stated):
        size = int(str(key.value))
        stages = parallelism.pipeline_parallel_size.need()
        if stages <= 1:
            return
        count = batch.gradient_accumulation_steps.need()
        at: list[Place | Value[int]] = [
            key.place,
            parallelism.pipeline_parallel_size,
            batch.global_batch_size,
        ]
        rest = count % size if size > 0 else 0
        if stages <= size <= count and (rest == 0 or rest >= stages):
            yield passed(at=at, measured=size, required=stages)
            continue
        text = f"groups of {size} micro-batches with {stages} pipeline stages"
        if not stages <= size <= count:
            text += f": a group takes from {stages} up to all {count} micro-batches"
        else:
            text += (
                f" leave {count} % {size} = {rest}: a rest must be none or at least "
                f"{stages}"
            )
        yield fail(
            text,
            at=at,
            measured=size,
            required=stages,
            cost="Megatron-LM raises on the first step",
            remedy=f"Leave the flag out: a group is then as large as the {stages} "
            "stages.",
            fix=without_keys([key]),
        )


def _groups(stated: StatedKeys) -> Iterator[StatedKey]:
    """Yield the flag where it surely holds a whole number."""
    for file in stated.files:
        for key in file.keys:
            if key.path == (_FLAG,) and key.is_sure and str(key.value).isdecimal():
                yield key
