"""Activation offloading without activation checkpointing.

Why it hurts: offloading moves the checkpointed activations to host memory. Without
checkpoints there is nothing to move: Axolotl and torchtune refuse the file.

What passes: offloading together with checkpointing.

Where it does not apply: no offloading; Megatron-LM, where the two exclude each other.

Source: axolotl utils/schemas/validation.py (check_activation_offloading_wo_gc);
torchtune recipes/full_finetune_distributed.py and the other recipes of training.

Bad::

    gradient_checkpointing: false
    activation_offloading: true

Good::

    gradient_checkpointing: true
    activation_offloading: true
"""

from speccheck.validator.evidence.finding import Fix, to_add, to_set
from speccheck.validator.evidence.mending import combined
from speccheck.validator.evidence.plan import Memory, Run
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

# The key that checkpoints, and the key that offloads.
_KEYS = {
    "axolotl": ("gradient_checkpointing", "activation_offloading"),
    "torchtune": (
        "enable_activation_checkpointing",
        "enable_activation_offloading",
    ),
}


@rule(clause="CONF-006", about=("memory.activation_offload",))
def activation_offload_without_recompute(
    memory: Memory, run: Run, stated: StatedKeys
) -> Verdicts:
    """Judge offloading against the recomputation mode."""
    offload, mode = memory.activation_offload, memory.recompute_mode
    keys = _KEYS.get(run.framework.or_else(""))
    if not offload.value or keys is None:
        return
    if mode.need() != "none":
        yield passed(at=[offload, mode])
        return
    yield fail(
        "activations are offloaded and none are checkpointed: there is nothing to move",
        at=[offload, mode],
        cost="the validator refuses the file at start-up",
        remedy=f"Set {keys[0]}: true, or remove {keys[1]}.",
        fix=_fix(keys, stated),
    )


def _fix(names: tuple[str, str], stated: StatedKeys) -> Fix | None:
    """Propose checkpointing, where it is stated as off, else beside the offloading."""
    inner, outer = (
        [key for file in stated.files for key in file.keys if key.path == (name,)]
        for name in names
    )
    says = f"set {names[0]} to true"
    if len(inner) == 1 and inner[0].value is False:
        return combined(says, [to_set(inner[0].place, value=True)])
    if not inner and len(outer) == 1:
        return combined(says, [to_add(outer[0].place, names[0], value=True)])
    return None
