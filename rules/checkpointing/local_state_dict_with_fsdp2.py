"""A local state dict with FSDP2.

Why it hurts: FSDP2 knows full and sharded state dicts only. The plugin raises when it
is set up, after the model has been loaded.

What passes: SHARDED_STATE_DICT, or FULL_STATE_DICT where one rank can hold the model.

Where it does not apply: FSDP1.

Source: huggingface/accelerate utils/dataclasses.py (FullyShardedDataParallelPlugin).

Bad::

    fsdp_version: 2
    fsdp_state_dict_type: LOCAL_STATE_DICT

Good::

    fsdp_version: 2
    fsdp_state_dict_type: SHARDED_STATE_DICT
"""

from speccheck.validator.evidence.finding import Fix, to_set
from speccheck.validator.evidence.mending import combined, place_of
from speccheck.validator.evidence.plan import Checkpoint, Parallelism
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_KEYS = ("fsdp_state_dict_type", "state_dict_type")


@rule(clause="CONF-010", about=("checkpoint.format",))
def local_state_dict_with_fsdp2(
    checkpoint: Checkpoint, parallelism: Parallelism
) -> Verdicts:
    """Judge the format of the state dict under FSDP2."""
    layout, engine = checkpoint.format, parallelism.engine
    if engine.value != "fsdp2" or not layout.is_known:
        return
    if layout.need() != "local":
        yield passed(at=layout, measured=layout.need())
        return
    yield fail(
        "FSDP2 has no local state dict; it saves sharded or full ones",
        at=[layout, engine],
        measured="local",
        required="sharded",
        cost="the run stops when saving is set up",
        remedy="Use SHARDED_STATE_DICT.",
        fix=_fix(layout),
    )


def _fix(layout: Value[str]) -> Fix | None:
    """Propose the sharded format, in the key that has these words."""
    place = place_of(layout, *_KEYS)
    if place is None:
        return None
    says = f"set {place.key} to SHARDED_STATE_DICT"
    return combined(says, [to_set(place, "SHARDED_STATE_DICT")])
