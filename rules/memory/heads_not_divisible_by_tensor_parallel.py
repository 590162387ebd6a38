"""Attention heads that do not divide over the tensor-parallel ranks.

Why it hurts: tensor parallelism gives whole heads to each rank. A remainder stops the
run while the model is built.

What passes: a number of heads that is a multiple of the tensor-parallel size.

Where it does not apply: no tensor parallelism. A size that no file states is asked for
by the rule on the world size.

Source: NVIDIA/Megatron-LM megatron/core/transformer/transformer_config.py
(__post_init__); deepspeedai/DeepSpeed issue 3634.

Bad::

    --num-attention-heads 20 --tensor-model-parallel-size 8

Good::

    --num-attention-heads 20 --tensor-model-parallel-size 4
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("parallelism.tensor_parallel_size",))
def heads_not_divisible_by_tensor_parallel(
    model: Model, parallelism: Parallelism
) -> Verdicts:
    """Judge heads % TP."""
    tensor = parallelism.tensor_parallel_size
    if tensor.or_else(1) <= 1:
        return
    ranks, heads = tensor.need(), model.attention_heads.need()
    at = [model.attention_heads, tensor]
    if heads % ranks == 0:
        yield passed(at=at, measured=heads, required=ranks)
        return
    yield fail(
        f"{heads} attention heads do not divide over {ranks} tensor-parallel ranks: "
        f"{heads} / {ranks} leaves {heads % ranks}",
        at=at,
        measured=heads,
        required=ranks,
        cost="the run stops while the model is built",
        remedy=f"Use a tensor-parallel size that divides {heads}.",
    )
