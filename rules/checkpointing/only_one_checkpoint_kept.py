"""Only the newest checkpoint kept.

Why it hurts: if the newest checkpoint turns out to be incomplete, or holds a state that
already diverged, there is nothing older to go back to.

What passes: two or more kept, or all of them.

Where it does not apply: runs that save nothing or are for debugging; fine-tuning on one
node, which is done again in hours. torchtitan refuses the value itself:
keep_count_refused tells that.

Source: engineering default; Hugging Face deletes the older checkpoint only after the
newer one is written, so that the danger there is a checkpoint that cannot be used.

Bad::

    save_total_limit: 1

Good::

    save_total_limit: 2
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Checkpoint, Cluster, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_FINE_TUNING = frozenset({"sft", "lora", "rl"})


class KeepLimit(Numbers):
    """How many checkpoints must be kept."""

    keep_min: int


@rule(clause="CKPT-006")
def only_one_checkpoint_kept(
    checkpoint: Checkpoint,
    cluster: Cluster,
    run: Run,
    stated: StatedKeys,
    limit: KeepLimit,
) -> Verdicts:
    """Judge the retention; 0 means that all are kept."""
    if checkpoint.enabled.value is False or run.is_trial:
        return
    keep = checkpoint.keep_last
    kept = keep.need()
    if kept <= 0 or kept >= limit.keep_min:
        yield passed(at=keep, measured=kept, required=limit.keep_min)
        return
    is_small = run.role.value in _FINE_TUNING and cluster.nodes.need() == 1
    if run.framework.value == "torchtitan" or is_small:
        return
    yield fail(
        f"{kept} checkpoint is kept; at least {limit.keep_min} are needed, so that an "
        f"older one is left when the newest cannot be loaded",
        at=keep,
        measured=kept,
        required=limit.keep_min,
        cost="a checkpoint that cannot be loaded ends the run",
        remedy=f"Keep {limit.keep_min} or more.",
        fix=rewritten(keep, limit.keep_min, stated),
    )
