"""Overlap of tensor-parallel communication asked for without sequence parallelism.

Why it hurts: the overlap splits the all-gather and reduce-scatter of sequence
parallelism. Without it, also when a tensor-parallel size of 1 turns it off, Megatron-LM
stops on an assertion.

What passes: --tp-comm-overlap with --sequence-parallel and a tensor-parallel size above
1.

Where it does not apply: no overlap asked for; frameworks that turn sequence parallelism
on by themselves.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).

Bad::

    --tensor-model-parallel-size 8 --tp-comm-overlap

Good::

    --tensor-model-parallel-size 8 --sequence-parallel --tp-comm-overlap
"""

from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import flag_added, the_flag, without_keys
from speccheck.validator.evidence.plan import Communication, Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-005",
    frameworks=("megatron-lm",),
    about=("communication.overlap_tensor_parallel",),
)
def tensor_overlap_without_sequence_parallel(
    communication: Communication, parallelism: Parallelism, stated: StatedKeys
) -> Verdicts:
    """Judge the pair; a tensor-parallel size of 1 turns sequence parallelism off."""
    overlap = communication.overlap_tensor_parallel
    if not overlap.value:
        return
    tensor, sequence = parallelism.tensor_parallel_size, parallelism.sequence_parallel
    at = (overlap, sequence, tensor)
    if tensor.value == 1:
        text = "tensor-parallel size 1, which turns sequence parallelism off"
        remedy = "Remove --tp-comm-overlap."
    elif sequence.need():
        yield passed(at=at)
        return
    else:
        text = "sequence parallelism off"
        remedy = "Add --sequence-parallel."
    yield fail(
        f"overlap of tensor-parallel communication is on with {text}",
        at=at,
        cost="Megatron-LM stops on an assertion at start-up",
        remedy=remedy,
        fix=_fix(stated, is_on_one_rank=tensor.value == 1),
    )


def _fix(stated: StatedKeys, *, is_on_one_rank: bool) -> Fix | None:
    """Propose no overlap where there is nothing to overlap, else what it needs."""
    key = the_flag(stated, "--tp-comm-overlap")
    if key is None:
        return None
    if is_on_one_rank:
        return without_keys([key])
    return flag_added(key.value_place, "--sequence-parallel")
