"""A sequence that context parallelism cannot cut into equal parts.

Why it hurts: causal attention is balanced by giving each rank one part from the front
and one from the back, so the sequence is cut into 2 x context-parallel parts. Another
length is refused at start-up.

What passes: a sequence length that is a multiple of 2 x context-parallel size.

Where it does not apply: no context parallelism; frameworks that pad the sequence
(Axolotl, Hugging Face).

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args); torchtitan
torchtitan/distributed/parallel_dims.py (seq_len_divisor).

Bad::

    --seq-length 131000 --context-parallel-size 8

Good::

    --seq-length 131072 --context-parallel-size 8
"""

from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-005",
    frameworks=("megatron-lm", "nemo1", "torchtitan"),
    about=("parallelism.context_parallel_size",),
)
def sequence_not_divisible_by_context_parallel(
    batch: Batch, parallelism: Parallelism
) -> Verdicts:
    """Judge sequence length % (2 x CP)."""
    context = parallelism.context_parallel_size
    if context.or_else(1) <= 1:
        return
    ranks, length = context.need(), batch.sequence_length.need()
    parts = 2 * ranks
    at = [batch.sequence_length, context]
    if length % parts == 0:
        yield passed(at=at, measured=length, required=parts)
        return
    below = length // parts * parts
    yield fail(
        f"sequence length {length:,} is not a multiple of 2 x context-parallel size "
        f"{ranks} = {parts}",
        at=at,
        measured=length,
        required=parts,
        cost="the run stops at start-up, on allocated nodes",
        remedy=f"Use {below:,} or {below + parts:,}.",
    )
