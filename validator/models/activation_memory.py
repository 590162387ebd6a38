"""Bytes of activations and logits on one GPU, as an interval.

Counts what the backward pass of a transformer layer needs. Sources: Korthikanti et al.
2022 (arXiv:2205.05198) for the terms of attention, normalisation and full
recomputation; operation counts of gated blocks; factors measured on published runs of
torchtitan (compiled: 0.73 of the count) and Megatron-DeepSpeed.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.parameters import (
    Dimensions,
    most_block_parameters,
)
from speccheck.validator.models.state_memory import Interval

# torch.compile keeps less than the plain count, never more.
_LEAST_SHARE_KEPT = 0.73
_BYTES_OF_HALF = 2
# Eager cross entropy in 32 bits keeps four copies of the logits.
_MOST_BYTES_OF_LOGIT = 16
# CUDA context, communicators and buckets, outside the allocator or beside activations.
_LEAST_OVERHEAD_BYTES = 0.5e9
_MOST_OVERHEAD_BYTES = 5 * 2.0**30
# Layers whose gathered weights live at once under FSDP and ZeRO-3.
_GATHERED_LAYERS = 3


class Work(Record):
    """What one rank computes at once.

    tokens: micro-batch x sequence / context-parallel ranks. recompute: none,
    selective, full, or empty where it is not known. micro_batches_in_flight: those
    whose activations a pipeline stage holds together.
    """

    tokens: int
    sequence_length: int
    tensor_ranks: int = 1
    pipeline_ranks: int = 1
    shards_sequence: bool = False
    recompute: str = ""
    attention: str = ""
    is_half: bool = True
    micro_batches_in_flight: int = 1
    gathers_weights: bool = False

    @property
    def bytes_of_element(self) -> int:
        """Of one stored activation."""
        return _BYTES_OF_HALF if self.is_half else 2 * _BYTES_OF_HALF


def least_layer_bytes(dimensions: Dimensions, work: Work) -> float:
    """Activations of one layer, nothing recomputed, attention scores never stored."""
    elements = 8 * dimensions.hidden_size
    key_value_heads = dimensions.key_value_heads or 0
    elements += (
        2 * (dimensions.attention_heads + 2 * key_value_heads) * dimensions.size_of_head
    )
    factor = 4 if dimensions.gated_feed_forward else 2
    elements += factor * (dimensions.feed_forward_size or 0)
    kept = _LEAST_SHARE_KEPT * elements / work.tensor_ranks
    return kept * work.bytes_of_element * work.tokens


def most_layer_bytes(dimensions: Dimensions, work: Work) -> float | None:
    """The same at most, with stored scores unless a flash kernel is sure."""
    if dimensions.feed_forward_size is None:
        return None
    heads = dimensions.attention_heads
    key_value_heads = dimensions.key_value_heads or heads
    common = 8 * dimensions.hidden_size
    split = 2 * (heads + 2 * key_value_heads) * dimensions.size_of_head
    split += 4 * dimensions.feed_forward_size
    if work.attention not in {"flash", "sdpa", "flex", "fused"}:
        split += 5 * heads * work.sequence_length // 2
    ranks = work.tensor_ranks
    elements = split / ranks + common / (ranks if work.shards_sequence else 1)
    return elements * work.bytes_of_element * work.tokens


def working_bytes(dimensions: Dimensions, work: Work) -> Interval | None:
    """Activations, logits, gathered weights and overhead of the fullest rank.

    None where a dimension that the upper bound needs is not known.
    """
    layer = most_layer_bytes(dimensions, work)
    block = most_block_parameters(dimensions)
    if layer is None or block is None or dimensions.vocabulary_size is None:
        return None
    layers = -(-dimensions.layers // work.pipeline_ranks)
    boundary = work.bytes_of_element * dimensions.hidden_size * work.tokens
    held = work.micro_batches_in_flight
    if work.recompute == "full":
        most = boundary * (layers + 1) * held + layer
    else:
        most = layer * layers * held
    logits = _MOST_BYTES_OF_LOGIT * work.tokens * dimensions.vocabulary_size
    most += logits / work.tensor_ranks
    if work.gathers_weights:
        embeddings = 2 * dimensions.vocabulary_size * dimensions.hidden_size
        gathered = _GATHERED_LAYERS * block + embeddings
        most += 2 * work.bytes_of_element * gathered / work.tensor_ranks
        if work.pipeline_ranks > 1:
            # Between micro-batches a stage keeps its gathered weights and unsharded
            # 32-bit gradients.
            kept = (work.bytes_of_element + 4) * (layers * block + embeddings)
            most += kept / work.tensor_ranks
    return Interval(_LEAST_OVERHEAD_BYTES, most + _MOST_OVERHEAD_BYTES)


def most_rank_parameters(dimensions: Dimensions, pipeline_ranks: int) -> int | None:
    """Parameters of the fullest pipeline stage, both embeddings with it."""
    block = most_block_parameters(dimensions)
    if block is None or dimensions.vocabulary_size is None:
        return None
    layers = -(-dimensions.layers // pipeline_ranks)
    return layers * block + 2 * dimensions.vocabulary_size * dimensions.hidden_size
