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

from speccheck.validator.evidence.plan import Memory, Run
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
def activation_offload_without_recompute(memory: Memory, run: Run) -> Verdicts:
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
    )
