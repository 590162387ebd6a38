"""Checkpoints without the optimizer or the random state.

Why it hurts: a restart from weights alone begins with empty Adam moments and with other
random numbers: the loss jumps, and the run cannot be reproduced.

What passes: both are saved.

Where it does not apply: fine-tuning on one node, which is started again from scratch in
hours; adapters and reinforcement learning (the clause asks for full training).

Source: NVIDIA/Megatron-LM arguments (--no-save-optim, --no-save-rng);
huggingface/transformers training_args.py (save_only_model).

Bad::

    save_only_model: true

Good::

    save_only_model: false
"""

from collections.abc import Iterator

from speccheck.validator.evidence.finding import Change, Fix, to_set
from speccheck.validator.evidence.mending import combined, place_of, switched
from speccheck.validator.evidence.plan import Checkpoint, Cluster, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ONLY_THE_MODEL = "save_only_model"  # true: what a restart needs is left out


@rule(clause="CKPT-005")
def optimizer_state_not_saved(
    checkpoint: Checkpoint, cluster: Cluster, run: Run, stated: StatedKeys
) -> Verdicts:
    """Judge what a checkpoint leaves out."""
    if checkpoint.enabled.value is False:
        return
    if run.role.value == "sft" and cluster.nodes.or_else(1) <= 1:
        return
    parts = (
        ("the optimizer state", checkpoint.save_optimizer),
        ("the random state", checkpoint.save_random_state),
    )
    left_out = [(name, leaf) for name, leaf in parts if leaf.value is False]
    if not left_out:
        checkpoint.save_optimizer.need()
        yield passed(at=[leaf for _, leaf in parts])
        return
    names = " and ".join(name for name, _ in left_out)
    yield fail(
        f"checkpoints leave out {names}: a restart does not continue the same run",
        at=[leaf for _, leaf in left_out],
        measured="left out",
        required="saved",
        cost="the loss jumps at each restart, and the run cannot be reproduced",
        fix=_fix([leaf for _, leaf in left_out], stated),
    )


def _fix(leaves: list[Value[bool]], stated: StatedKeys) -> Fix | None:
    """Propose both parts saved, where keys of these very meanings leave them out."""
    changes = [change for leaf in leaves for change in _change(leaf, stated)]
    if len(changes) < len(leaves):
        return None
    names = " and ".join(dict.fromkeys(change.place.key for change in changes))
    return combined(f"turn over {names}", dict.fromkeys(changes))


def _change(leaf: Value[bool], stated: StatedKeys) -> Iterator[Change]:
    fix = switched(leaf, stated, on=True)
    place = place_of(leaf, _ONLY_THE_MODEL)
    if fix is not None:
        yield from fix.changes
    elif place is not None:
        yield to_set(place, value=False)
