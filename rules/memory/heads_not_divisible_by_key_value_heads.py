"""Attention heads that do not form equal groups over the key-value heads.

Why it hurts: grouped-query attention gives each key-value head the same number of
query heads. With a remainder the shapes do not fit, and the first forward pass fails.

What passes: attention heads that are a multiple of the key-value heads.

Where it does not apply: the number of key-value heads is not stated.

Source: nanotron config/config.py; gpt-neox megatron/neox_arguments/arguments.py;
NVIDIA/Megatron-LM megatron/core/transformer/attention.py.

Bad::

    --num-attention-heads 32 --group-query-attention --num-query-groups 6

Good::

    --num-attention-heads 32 --group-query-attention --num-query-groups 8
"""

from speccheck.validator.evidence.plan import Model
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005", about=("model.key_value_heads",))
def heads_not_divisible_by_key_value_heads(model: Model) -> Verdicts:
    """Judge heads % key-value heads."""
    if not model.key_value_heads.is_known:
        return
    groups, heads = model.key_value_heads.need(), model.attention_heads.need()
    at = [model.key_value_heads, model.attention_heads]
    if groups > 0 and heads % groups == 0:
        yield passed(at=at, measured=heads, required=groups)
        return
    yield fail(
        f"{heads} attention heads are not a multiple of {groups} key-value heads",
        at=at,
        measured=heads,
        required=groups,
        cost="the shapes of queries and keys do not fit: the first step fails",
        remedy=f"Use a number of key-value heads that divides {heads}.",
    )
