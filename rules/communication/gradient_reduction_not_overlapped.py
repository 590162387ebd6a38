"""Gradient reduction that waits for the whole backward pass.

Why it hurts: on several nodes the complete gradient exchange is added to each step,
although most of it could run while the backward pass still computes.

What passes: overlap is on.

Where it does not apply: one node; no data parallelism; reinforcement learning, whose
steps are mostly generation and whose published recipes leave it off. Megatron-LM leaves
it off unless a flag turns it on, DeepSpeed turns it on by itself for stage 3 only.

Source: DeepSpeed configuration page (overlap_comm); NVIDIA/Megatron-LM
distributed_data_parallel_config.py.

Bad::

    "zero_optimization": {"stage": 2, "overlap_comm": false}

Good::

    "zero_optimization": {"stage": 2, "overlap_comm": true}
"""

from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Communication, Parallelism, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_SETTINGS = {
    "deepspeed": 'Set "overlap_comm": true in zero_optimization.',
    "megatron-lm": "Add --overlap-grad-reduce.",
}


@rule(clause="COMM-006")
def gradient_reduction_not_overlapped(
    communication: Communication,
    parallelism: Parallelism,
    run: Run,
    stated: StatedKeys,
) -> Verdicts:
    """Judge the overlap of gradient reduction with the backward pass."""
    if parallelism.data_parallel_size.value == 1 or run.role.value == "rl":
        return
    overlap = communication.overlap_gradient_reduce
    if overlap.need():
        yield passed(at=overlap)
        return
    engine = parallelism.engine.or_else("")
    setting = _SETTINGS.get(engine) or _SETTINGS.get(run.framework.or_else(""), "")
    yield fail(
        "gradients are reduced after the backward pass instead of during it",
        at=overlap,
        measured="off",
        required="on",
        cost="the whole gradient exchange is added to each step",
        remedy=setting,
        fix=switched(overlap, stated, on=True),
    )
