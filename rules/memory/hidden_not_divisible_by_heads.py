"""A hidden size that is no multiple of the heads, with no head size stated.

Why it hurts: the size of a head is then hidden size / heads. With a remainder the
framework stops, or rounds down and the output projection no longer fits.

What passes: a hidden size that is a multiple of the heads.

Where it does not apply: models that state the size of a head; state-space models,
whose heads are not attention heads.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).

Bad::

    --hidden-size 5000 --num-attention-heads 48

Good::

    --hidden-size 5120 --num-attention-heads 40
"""

from speccheck.validator.evidence.plan import Model
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="MEM-005")
def hidden_not_divisible_by_heads(model: Model) -> Verdicts:
    """Judge hidden size % heads."""
    if model.head_dimension.status in {"stated", "default", "conflict"}:
        return
    if model.family.or_else("transformer") != "transformer":
        return
    hidden, heads = model.hidden_size, model.attention_heads
    if not hidden.is_known and not heads.is_known:
        return
    size, count = hidden.need(), heads.need()
    if count > 0 and size % count == 0:
        yield passed(at=[hidden, heads], measured=size, required=count)
        return
    if model.head_dimension.is_known:
        return  # that of the public model that the files name
    yield fail(
        f"hidden size {size:,} does not divide into {count} heads, and no size of a "
        "head is stated",
        at=[hidden, heads],
        measured=size,
        required=count,
        cost="the run stops while the model is built",
        remedy=f"Use a multiple of {count} as the hidden size, or state the head size.",
    )
