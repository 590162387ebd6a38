"""Sequences longer than the positions that the framework makes.

Why it hurts: Megatron-LM asserts at start-up that the position table covers the
sequence, and GPT-NeoX refuses the configuration.

What passes: --max-position-embeddings at least --seq-length.

Where it does not apply: other frameworks.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args);
EleutherAI/gpt-neox megatron/neox_arguments/arguments.py (validate_values).

Bad::

    --seq-length 8192 --max-position-embeddings 4096

Good::

    --seq-length 8192 --max-position-embeddings 8192
"""

from speccheck.validator.evidence.plan import Batch, Model
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="CONF-010",
    frameworks=("gpt-neox", "megatron-lm"),
    about=("model.maximum_positions",),
)
def sequence_beyond_positions(batch: Batch, model: Model) -> Verdicts:
    """Judge sequence <= positions."""
    length, positions = batch.sequence_length, model.maximum_positions
    if not length.is_known or not positions.is_known:
        return
    at = [positions, length]
    if length.need() <= positions.need():
        yield passed(at=at, measured=length.need(), required=positions.need())
        return
    yield fail(
        f"sequences of {length.need():,} tokens do not fit {positions.need():,} "
        f"positions",
        at=at,
        measured=length.need(),
        required=positions.need(),
        cost="the framework stops at start-up",
        remedy=f"Make {length.need():,} positions, or shorten the sequences.",
    )
