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

from speccheck.validator.evidence.plan import Checkpoint, Cluster, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CKPT-005")
def optimizer_state_not_saved(
    checkpoint: Checkpoint, cluster: Cluster, run: Run
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
    )
