"""A sequence that sequence parallelism cannot cut into equal parts.

Why it hurts: sequence parallelism keeps the activations between tensor-parallel blocks
cut along the sequence. With a remainder the shapes differ between ranks; older
torchtitan trained on with wrong shapes.

What passes: a sequence length, divided by the context-parallel ranks, that is a
multiple of the tensor-parallel size.

Where it does not apply: no tensor parallelism or no sequence parallelism.

Source: pytorch/torchtitan issue 1306 and pull request 1312; NVIDIA/Megatron-LM
megatron/core/tensor_parallel/mappings.py.

Bad::

    --seq-length 4094 --tensor-model-parallel-size 4 --sequence-parallel

Good::

    --seq-length 4096 --tensor-model-parallel-size 4 --sequence-parallel
"""

from speccheck.validator.evidence.plan import Batch, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="MEM-005",
    frameworks=("megatron-lm", "nemo1", "torchtitan"),
    about=("parallelism.tensor_parallel_size",),
)
def sequence_not_divisible_by_tensor_parallel(
    batch: Batch, parallelism: Parallelism
) -> Verdicts:
    """Judge (sequence length / CP) % TP."""
    tensor = parallelism.tensor_parallel_size
    if tensor.or_else(1) <= 1:
        return
    if not parallelism.sequence_parallel.need():
        return
    ranks, length = tensor.need(), batch.sequence_length.need()
    context = parallelism.context_parallel_size.or_else(1)
    if context > 1 and length % (2 * context):
        return  # the context-parallel cut fails already
    share = length // context
    at = [batch.sequence_length, tensor, parallelism.context_parallel_size]
    if share % ranks == 0:
        yield passed(at=at, measured=share, required=ranks)
        return
    text = f"sequence length {length:,}"
    if context > 1:
        text += f" / context-parallel size {context} = {share:,}"
    yield fail(
        f"{text} is not a multiple of the tensor-parallel size {ranks}, which "
        "sequence parallelism needs",
        at=at,
        measured=share,
        required=ranks,
        cost="shapes differ between ranks: the first step fails or computes nonsense",
        remedy=f"Use a sequence length that is a multiple of {ranks * context}.",
    )
