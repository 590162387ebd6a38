"""Eager attention on long sequences.

Why it hurts: eager attention writes the whole score matrix, sequence x sequence for
each head. Memory and time grow with its square; a fused kernel keeps it on chip.

What passes: flash, fused or SDPA attention, or short sequences.

Where it does not apply: models that are no transformers, and those that are published
to be trained with eager attention, because a fused kernel leaves out the sinks
(gpt-oss) or the soft cap of the scores (Gemma 2 and 3). A backend that is only the
default of a framework (GPT-NeoX, whose published recipes leave it) is left open: state
it to have it judged.

Source: Dao et al. 2022 (arXiv:2205.14135); transformers documentation of
attn_implementation; the warning of transformers' modeling_gemma2.py and
modeling_gemma3.py in training; OpenAI's fine-tuning recipes of gpt-oss.

Bad::

    attn_implementation: eager
    sequence_len: 8192

Good::

    attn_implementation: flash_attention_2
    sequence_len: 8192
"""

from speccheck.validator.evidence.plan import Batch, Kernels, Model
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_TRAINED_EAGERLY = ("gpt-oss", "gpt_oss", "gemma-2", "gemma2", "gemma-3", "gemma3")


class LongSequence(Numbers):
    """From how many tokens on a fused backend is asked for."""

    seq_min: int


@rule(clause="KERN-001")
def eager_attention_on_long_sequences(
    kernels: Kernels, batch: Batch, model: Model, limit: LongSequence
) -> Verdicts:
    """Judge the backend where the sequence is long."""
    backend, length = kernels.attention_backend, batch.sequence_length
    if length.or_else(limit.seq_min) < limit.seq_min:
        return
    text = backend.need()
    if text != "eager":
        yield passed(at=backend, measured=text)
        return
    backend.need_stated()
    name = model.name_of_model.or_else("").lower()
    if any(part in name for part in _TRAINED_EAGERLY):
        return
    tokens = length.need()
    yield fail(
        f"attention is eager at a sequence length of {tokens:,}; from "
        f"{limit.seq_min:,} on a fused backend should be used",
        at=[backend, length],
        measured=tokens,
        required=limit.seq_min,
        cost=f"each head stores {tokens:,} x {tokens:,} scores for each sample",
    )
