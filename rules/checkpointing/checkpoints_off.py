"""Checkpoints off in a run that is long enough to lose.

Why it hurts: the first fault throws away everything since the start. Several frameworks
save nothing until they are told to (torchtitan), and a switch left off from a test run
is the usual cause.

What passes: periodic saving is on.

Where it does not apply: debug runs and benchmarks of under 200 steps, and runs that are
known to be short. A run whose length is unknown is judged when it spans several nodes
and does not fine-tune, and when its steps take longer than that at the peak of any GPU.

Source: pytorch/torchtitan torchtitan/config (Checkpoint.enable, default false);
huggingface/transformers training_args.py (save_strategy).

Bad::

    [checkpoint]
    enable = false

Good::

    [checkpoint]
    enable = true
    interval = 500
"""

from speccheck.rules.checkpointing._length import is_long, is_surely_short
from speccheck.validator.evidence.mending import switched
from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class SaveLimit(Numbers):
    """The length from which a run must save."""

    max_unsaved: float  # hours


@rule(clause="CKPT-001")
def checkpoints_off(
    plan: TrainingPlan,
    checkpoint: Checkpoint,
    run: Run,
    stated: StatedKeys,
    limit: SaveLimit,
) -> Verdicts:
    """Judge whether anything is saved."""
    enabled = checkpoint.enabled
    if is_surely_short(run, limit.max_unsaved):
        return
    if enabled.value is True:
        yield passed(at=enabled)
        return
    length = is_long(plan, run, limit.max_unsaved)
    if not length:
        return
    enabled.need()
    yield fail(
        f"nothing is saved in a run of {length}; runs longer than "
        f"{limit.max_unsaved:g} h need periodic checkpoints",
        at=enabled,
        measured="off",
        required="on",
        cost="the first fault loses the whole run",
        fix=switched(enabled, stated, on=True),
    )
