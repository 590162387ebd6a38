"""A retention of one checkpoint, which torchtitan refuses.

Why it hurts: the newest checkpoint may still be in the making when the older one is
deleted. torchtitan therefore stops with an error when it is told to keep one.

What passes: 0, which keeps all, or two and more.

Where it does not apply: other frameworks, and runs that save nothing.

Source: pytorch/torchtitan torchtitan/components/checkpoint.py (CheckpointManager).

Bad::

    [checkpoint]
    enable = true
    keep_latest_k = 1

Good::

    [checkpoint]
    enable = true
    keep_latest_k = 2
"""

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import Checkpoint
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FEWEST = 2


@rule(clause="CONF-010", frameworks=("torchtitan",), about=("checkpoint.keep_last",))
def keep_count_refused(checkpoint: Checkpoint, stated: StatedKeys) -> Verdicts:
    """Judge keep_latest_k of torchtitan."""
    keep = checkpoint.keep_last
    if checkpoint.enabled.value is False:
        return
    if keep.status not in {"stated", "derived"} or keep.value is None:
        return
    if keep.need() != 1:
        yield passed(at=keep, measured=keep.need())
        return
    yield fail(
        "torchtitan refuses to keep 1 checkpoint: the newest may still be in the "
        "making when the one before it is deleted; 0 keeps all, 2 is the least",
        at=keep,
        measured=1,
        required=_FEWEST,
        cost="torchtitan stops at start-up",
        remedy="Keep at least 2, or 0 for all.",
        fix=rewritten(keep, _FEWEST, stated),
    )
