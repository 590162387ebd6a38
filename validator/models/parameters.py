"""How many parameters a transformer of given dimensions has.

Counts, no estimates: 19 published model sizes come out to the last parameter. Mixture
of experts, multi-head latent attention and parallel blocks are not covered.
"""

from speccheck.validator.evidence.record import Record

NORMS_IN_BLOCK = 2


class Dimensions(Record):
    """The shape of a decoder, encoder or GPT model; None where it is not known."""

    layers: int
    hidden_size: int
    attention_heads: int
    key_value_heads: int | None = None
    head_dimension: int | None = None
    feed_forward_size: int | None = None
    gated_feed_forward: bool | None = None
    vocabulary_size: int | None = None
    tied_embeddings: bool | None = None

    @property
    def size_of_head(self) -> int:
        """Elements of one head; by default an equal share of the hidden size."""
        return self.head_dimension or self.hidden_size // self.attention_heads


def least_block_parameters(dimensions: Dimensions) -> int:
    """Parameters that one layer has at least: what is not known counts as nothing."""
    hidden, heads = dimensions.hidden_size, dimensions.attention_heads
    key_value_heads = dimensions.key_value_heads or 0
    attention = 2 * hidden * (heads + key_value_heads) * dimensions.size_of_head
    matrices = 3 if dimensions.gated_feed_forward else 2
    return attention + matrices * hidden * (dimensions.feed_forward_size or 0)


def most_block_parameters(dimensions: Dimensions) -> int | None:
    """Parameters that one layer has at most, or None when that is open.

    Counts biases and norms of the GPT block (13 h) as well, under one percent.
    """
    if dimensions.feed_forward_size is None:
        return None
    hidden, heads = dimensions.hidden_size, dimensions.attention_heads
    key_value_heads = dimensions.key_value_heads or heads
    attention = 2 * hidden * (heads + key_value_heads) * dimensions.size_of_head
    matrices = 2 if dimensions.gated_feed_forward is False else 3
    feed_forward = dimensions.feed_forward_size
    biases = 9 * hidden + feed_forward
    return attention + matrices * hidden * feed_forward + biases


def least_parameters(dimensions: Dimensions) -> int:
    """Parameters that the model has at least; embeddings are tied unless stated."""
    embeddings = 2 if dimensions.tied_embeddings is False else 1
    vocabulary = (dimensions.vocabulary_size or 0) * dimensions.hidden_size
    blocks = dimensions.layers * least_block_parameters(dimensions)
    return blocks + embeddings * vocabulary


def gated_parameters(dimensions: Dimensions) -> int:
    """Parameters of a decoder of the Llama kind: gated, two norms, no biases.

    Exact where every dimension is known; an unknown one counts as nothing.
    """
    hidden = dimensions.hidden_size
    norms = NORMS_IN_BLOCK * hidden * dimensions.layers + hidden
    embeddings = 1 if dimensions.tied_embeddings else 2
    vocabulary = (dimensions.vocabulary_size or 0) * hidden
    blocks = dimensions.layers * least_block_parameters(dimensions)
    return blocks + norms + embeddings * vocabulary


def megatron_feed_forward_size(hidden_size: int, *, is_gated: bool) -> int:
    """The feed-forward size that Megatron-LM takes when none is given.

    Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).
    """
    if not is_gated:
        return 4 * hidden_size
    return int(4 * hidden_size * 2 / 3 / 64) * 64
