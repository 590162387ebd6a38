"""Key-value heads that neither divide over the tensor-parallel ranks nor repeat evenly.

Why it hurts: with grouped-query attention each rank holds whole key-value heads, or
several ranks share one. Anything else has no layout, and the model is refused.

What passes: key-value heads that are a multiple of the tensor-parallel size, or a
tensor-parallel size that is a multiple of them.

Where it does not apply: no tensor parallelism; every head has its own key and value;
key-value heads that no file states.

Source: NVIDIA/Megatron-LM megatron/core/transformer/transformer_config.py; nanotron
config/config.py. Releases of Megatron-LM before 2025 take multiples only.

Bad::

    --num-query-groups 6 --tensor-model-parallel-size 4

Good::

    --num-query-groups 8 --tensor-model-parallel-size 4
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("model.key_value_heads",))
def key_value_heads_not_divisible_by_tensor_parallel(
    model: Model, parallelism: Parallelism
) -> Verdicts:
    """Judge key-value heads against TP, in both directions."""
    tensor, groups = parallelism.tensor_parallel_size, model.key_value_heads
    if tensor.or_else(1) <= 1 or not groups.is_known:
        return
    if groups.value == model.attention_heads.value:
        return
    ranks, heads = tensor.need(), groups.need()
    at = [groups, tensor]
    if heads % ranks == 0 or (heads > 0 and ranks % heads == 0):
        yield passed(at=at, measured=heads, required=ranks)
        return
    yield fail(
        f"{heads} key-value heads and {ranks} tensor-parallel ranks do not divide each "
        "other",
        at=at,
        measured=heads,
        required=ranks,
        cost="the run stops while the model is built",
        remedy=f"Use a tensor-parallel size that divides {heads}.",
    )
