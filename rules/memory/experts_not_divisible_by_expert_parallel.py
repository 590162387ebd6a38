"""Experts that do not divide over the expert-parallel ranks.

Why it hurts: each rank holds the same number of whole experts. A remainder, or fewer
experts than ranks, stops the run at start-up.

What passes: experts that are a multiple of the expert-parallel size.

Where it does not apply: no expert parallelism.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).

Bad::

    --num-experts 60 --expert-model-parallel-size 8

Good::

    --num-experts 64 --expert-model-parallel-size 8
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("parallelism.expert_parallel_size",))
def experts_not_divisible_by_expert_parallel(
    model: Model, parallelism: Parallelism
) -> Verdicts:
    """Judge experts % EP."""
    group = parallelism.expert_parallel_size
    if group.or_else(1) <= 1:
        return
    ranks, experts = group.need(), model.experts.need()
    at = [model.experts, group]
    if experts >= ranks and experts % ranks == 0:
        yield passed(at=at, measured=experts, required=ranks)
        return
    if experts < ranks:
        text = (
            f"{ranks} expert-parallel ranks are requested, and the number of experts "
            f"is {experts}"
        )
    else:
        text = (
            f"{experts} experts do not divide over {ranks} expert-parallel ranks: "
            f"{experts} / {ranks} leaves {experts % ranks}"
        )
    yield fail(
        text,
        at=at,
        measured=experts,
        required=ranks,
        cost="the run stops at start-up, on allocated nodes",
        remedy="Use an expert-parallel size that divides the number of experts.",
    )
