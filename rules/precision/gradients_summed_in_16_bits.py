"""Gradients summed in 16 bits over many micro-batches or many ranks.

Why it hurts: a sum in bf16 keeps 8 bits of each term. The more terms, the more of the
small ones vanish, and the loss curve bends away from the one you tuned.

What passes: fp32 for accumulation over many micro-batches and for reduction over many
ranks.

Where it does not apply: few micro-batches and few ranks. A 16-bit format that is only
a framework's default is left open: state it to have it judged.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py, which accumulates and reduces
in fp32 for bf16; torchtitan, where mixed_precision_reduce is float32.

Bad::

    --bf16 --grad-reduce-in-bf16        # 1,024 data-parallel ranks

Good::

    --bf16
"""

from speccheck.validator.evidence.finding import Fix, to_set
from speccheck.validator.evidence.mending import combined, place_of
from speccheck.validator.evidence.plan import Batch, Parallelism, Precision
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class Terms(Numbers):
    """From how many terms on a sum takes fp32."""

    micro_batches: int
    dp_ranks: int


@rule(clause="PREC-005")
def gradients_summed_in_16_bits(
    precision: Precision, batch: Batch, parallelism: Parallelism, limit: Terms
) -> Verdicts:
    """Judge the sum over micro-batches and the one over ranks, each by itself."""
    ranks, steps = parallelism.data_parallel_size, batch.gradient_accumulation_steps
    if ranks.need() >= limit.dp_ranks:
        yield _judged(
            precision.gradient_reduce_dtype,
            ranks,
            "data-parallel ranks",
            limit.dp_ranks,
        )
    if steps.need() >= limit.micro_batches:
        yield _judged(
            precision.gradient_accumulate_dtype,
            steps,
            "micro-batches",
            limit.micro_batches,
        )


def _judged(dtype: Value[str], terms: Value[int], name: str, least: int) -> Verdict:
    count, text = terms.need(), dtype.need()
    if text == "fp32":
        return passed(at=[dtype, terms], measured=text)
    dtype.need_stated()
    return fail(
        f"gradients of {count:,} {name} are summed in {text}; from {least:,} on the "
        "sum should be in fp32",
        at=[dtype, terms],
        measured=text,
        required="fp32",
        cost="small gradients vanish in the sum, and the loss drifts",
        fix=_fix(dtype),
    )


# Keys that name the format of a sum, and their word for fp32.
_WORDS = {
    "communication_data_type": "fp32",
    "data_types.grad_accum_dtype": "fp32",
    "mixed_precision_reduce": "float32",
}


def _fix(dtype: Value[str]) -> Fix | None:
    """Propose the word for fp32 in the key that names the format."""
    for key, word in _WORDS.items():
        place = place_of(dtype, key)
        if place is not None:
            return combined(f"set {place.key} to {word}", [to_set(place, word)])
    return None
