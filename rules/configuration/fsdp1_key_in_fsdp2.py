"""A key of FSDP1 in a file for FSDP2.

Why it hurts: FSDP2 has another interface. Some of the old keys are reset with a
warning, others have no effect, so that the file promises what does not happen.

What passes: the keys of FSDP2: reshard_after_forward, cpu_offload, state_dict_type,
auto_wrap_policy, activation_checkpointing.

Where it does not apply: FSDP1. sharding_strategy is deprecated in both: deprecated_key
tells that.

Source: huggingface/accelerate commands/to_fsdp2.py and utils/dataclasses.py.

Bad::

    fsdp_version: 2
    fsdp_backward_prefetch: BACKWARD_PRE

Good::

    fsdp_version: 2
    fsdp_reshard_after_forward: true
"""

from speccheck.validator.evidence.framework_keys import dotted
from speccheck.validator.evidence.mending import without_keys
from speccheck.validator.evidence.plan import Parallelism
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_OLD_KEYS = frozenset(
    {"backward_prefetch", "forward_prefetch", "use_orig_params", "sync_module_states"}
)
_BLOCK = "fsdp_config"


@rule(clause="CONF-004", about=("parallelism.engine",))
def fsdp1_key_in_fsdp2(stated: StatedKeys, parallelism: Parallelism) -> Verdicts:
    """Judge the keys of fsdp_config under FSDP2."""
    if parallelism.engine.value != "fsdp2":
        return
    for file in stated.files:
        block = [key for key in file.keys if key.path[0] == _BLOCK and not key.is_block]
        old = [key for key in block if _plain(str(key.path[-1])) in _OLD_KEYS]
        if block and not old:
            yield passed()
        for key in old:
            yield fail(
                f"{dotted(key.path)} is a key of FSDP1; in FSDP2 it has no effect",
                at=[key.place, *parallelism.engine.places],
                measured=dotted(key.path),
                required="a key of FSDP2",
                cost="the file promises what does not happen",
                remedy="Delete the line.",
                fix=without_keys([key]),
            )


def _plain(name: str) -> str:
    return name.removeprefix("fsdp_")
