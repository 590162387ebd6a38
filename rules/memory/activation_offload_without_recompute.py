"""Activation offloading without activation checkpointing in Axolotl.

Why it hurts: offloading moves the checkpointed activations to host memory. Without
checkpoints there is nothing to move, and the validator refuses the file.

What passes: activation_offloading together with gradient_checkpointing.

Where it does not apply: no offloading; Megatron-LM, where the two exclude each other.

Source: axolotl utils/schemas/validation.py (check_activation_offloading_wo_gc).

Bad::

    gradient_checkpointing: false
    activation_offloading: true

Good::

    gradient_checkpointing: true
    activation_offloading: true
"""

from speccheck.validator.evidence.plan import Memory, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006")
def activation_offload_without_recompute(memory: Memory, run: Run) -> Verdicts:
    """Judge offloading against the recomputation mode."""
    offload, mode = memory.activation_offload, memory.recompute_mode
    if not offload.value or run.framework.value != "axolotl":
        return
    if mode.need() != "none":
        yield passed(at=[offload, mode])
        return
    yield fail(
        "activations are offloaded and none are checkpointed: there is nothing to move",
        at=[offload, mode],
        cost="the validator refuses the file at start-up",
        remedy="Set gradient_checkpointing: true, or remove activation_offloading.",
    )
