"""How many parameters a transformer of given dimensions has, and its fullest stage.

Counts, no estimates: 21 published model sizes come out to the last parameter. Blocks
without a gate count biases as GPT does; parallel blocks (Falcon, GPT-J) have one norm
less and stay within the bounds.
"""

from collections.abc import Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, EstimateKind

NORMS_IN_BLOCK = 2
COUNT = "count of the matrices of each layer"


class LatentAttention(Record):
    """Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434).

    query_rank is 0 where queries are not compressed.
    """

    query_rank: int
    key_value_rank: int
    nope_dimension: int
    rope_dimension: int
    value_dimension: int


class Dimensions(Record):
    """The shape of a decoder, encoder or GPT model; None where it is not known.

    Attributes:
        has_biases: on every linear layer and norm, as GPT has them.
        query_key_value_bias: on these three alone, as Qwen2 has them.
        experts: of each mixture layer; 0 for a dense model.
        shared_feed_forward_size: of the experts that every token passes, together.
        dense_layers: that come before the mixture layers.
        mixture_is_sure: every layer after those is a mixture and attention is as the
            other dimensions say, which a configuration that only counts experts does
            not tell.
        router_bias: one balancing term for each expert (DeepSeek-V3).

    """

    layers: int
    hidden_size: int
    attention_heads: int
    key_value_heads: int | None = None
    head_dimension: int | None = None
    feed_forward_size: int | None = None
    gated_feed_forward: bool | None = None
    vocabulary_size: int | None = None
    tied_embeddings: bool | None = None
    has_biases: bool = False
    query_key_value_bias: bool = False
    query_key_norm: bool = False
    norms_in_block: int = NORMS_IN_BLOCK
    experts: int = 0
    experts_per_token: int = 0
    expert_feed_forward_size: int | None = None
    shared_feed_forward_size: int = 0
    dense_layers: int = 0
    mixture_is_sure: bool = True
    router_bias: bool = False
    latent: LatentAttention | None = None

    @property
    def size_of_head(self) -> int:
        """Elements of one head; by default an equal share of the hidden size."""
        return self.head_dimension or self.hidden_size // self.attention_heads

    @property
    def embedding(self) -> int:
        """Parameters of one embedding; nothing where the vocabulary is not known."""
        return (self.vocabulary_size or 0) * self.hidden_size

    @property
    def is_complete(self) -> bool:
        """Whether nothing that the count needs is missing."""
        needed: tuple[object, ...] = (
            self.vocabulary_size,
            self.tied_embeddings,
            self.gated_feed_forward,
            self.key_value_heads or self.latent,
        )
        if self.experts:
            needed += (self.expert_feed_forward_size,)
        if not self.experts or self.dense_layers:
            needed += (self.feed_forward_size,)
        return None not in needed


class Buckets(Record):
    """Parameters by how Megatron-LM cuts them over ranks.

    split over tensor-parallel ranks; replicated on each of them (norms, router, latent
    projections); of the experts, over expert-parallel and expert-tensor ranks.
    """

    split: int
    replicated: int
    of_experts: int


def attention_parameters(dimensions: Dimensions) -> int:
    """Return parameters of one layer's attention, with biases and norms inside it."""
    hidden, heads = dimensions.hidden_size, dimensions.attention_heads
    if dimensions.latent is not None:
        return _latent_parameters(hidden, heads, dimensions.latent)
    size, key_values = dimensions.size_of_head, dimensions.key_value_heads or 0
    count = 2 * hidden * (heads + key_values) * size
    if dimensions.query_key_value_bias:
        count += (heads + 2 * key_values) * size
    if dimensions.query_key_norm:
        count += 2 * size
    if dimensions.has_biases:
        count += (heads + 2 * key_values) * size + hidden
    return count


def _latent_parameters(hidden: int, heads: int, latent: LatentAttention) -> int:
    width = latent.nope_dimension + latent.rope_dimension
    count = hidden * (latent.key_value_rank + latent.rope_dimension)
    count += latent.key_value_rank  # a norm
    count += (
        latent.key_value_rank * heads * (latent.nope_dimension + latent.value_dimension)
    )
    count += heads * latent.value_dimension * hidden
    if not latent.query_rank:
        return count + hidden * heads * width
    rank = latent.query_rank
    return count + hidden * rank + rank + rank * heads * width


def _feed_forward(dimensions: Dimensions, size: int) -> int:
    matrices = 3 if dimensions.gated_feed_forward else 2
    count = matrices * dimensions.hidden_size * size
    if dimensions.has_biases:
        count += (matrices - 1) * size + dimensions.hidden_size
    return count


def _norm_parameters(dimensions: Dimensions) -> int:
    width = 2 if dimensions.has_biases else 1
    return dimensions.norms_in_block * width * dimensions.hidden_size


def expert_parameters(dimensions: Dimensions) -> int:
    """Return the parameters of the routed experts of one mixture layer."""
    each = _feed_forward(dimensions, dimensions.expert_feed_forward_size or 0)
    return dimensions.experts * each


def _router_parameters(dimensions: Dimensions) -> int:
    return dimensions.experts * (
        dimensions.hidden_size + (1 if dimensions.router_bias else 0)
    )


def layer_parameters(dimensions: Dimensions, *, is_mixture: bool | None = None) -> int:
    """Return the parameters of one layer; what is not known counts as nothing."""
    if is_mixture is None:
        is_mixture = dimensions.experts > 0
    count = attention_parameters(dimensions) + _norm_parameters(dimensions)
    if not is_mixture:
        return count + _feed_forward(dimensions, dimensions.feed_forward_size or 0)
    if dimensions.shared_feed_forward_size:
        count += _feed_forward(dimensions, dimensions.shared_feed_forward_size)
    return count + expert_parameters(dimensions) + _router_parameters(dimensions)


def _all_layers(dimensions: Dimensions) -> int:
    dense = dimensions.dense_layers if dimensions.experts else dimensions.layers
    count = dense * layer_parameters(dimensions, is_mixture=False)
    if dense < dimensions.layers:
        mixture = layer_parameters(dimensions, is_mixture=True)
        count += (dimensions.layers - dense) * mixture
    return count


def counted_parameters(dimensions: Dimensions) -> int:
    """Return all parameters: to the last one where each dimension is known."""
    embeddings = 1 if dimensions.tied_embeddings else 2
    final_norm = dimensions.hidden_size * (2 if dimensions.has_biases else 1)
    return _all_layers(dimensions) + final_norm + embeddings * dimensions.embedding


def gpt_parameters(layers: int, hidden_size: int, vocabulary_size: int) -> int:
    """Return the parameters of GPT blocks, 12 h^2 + 13 h each, and a tied embedding.

    bigscience-workshop/bigscience counts so: no position embedding, no final norm.
    """
    block = 12 * hidden_size * hidden_size + 13 * hidden_size
    return layers * block + vocabulary_size * hidden_size


def active_matmul_parameters(dimensions: Dimensions) -> int:
    """Return the parameters that multiply one token: head and router among them."""
    routed = dimensions.experts_per_token * (dimensions.expert_feed_forward_size or 0)
    sizes = routed + dimensions.shared_feed_forward_size
    if not dimensions.experts:
        sizes = dimensions.feed_forward_size or 0
    matrices = 3 if dimensions.gated_feed_forward else 2
    hidden = dimensions.hidden_size
    layer = attention_parameters(
        dimensions._replace(query_key_norm=False, query_key_value_bias=False)
    )
    layer += matrices * hidden * sizes + dimensions.experts * hidden
    return dimensions.layers * layer + dimensions.embedding


def parameter_buckets(dimensions: Dimensions) -> Buckets:
    """Return the whole model by how Megatron-LM cuts it."""
    mixtures = dimensions.layers - dimensions.dense_layers if dimensions.experts else 0
    of_experts = mixtures * expert_parameters(dimensions)
    replicated = dimensions.layers * _norm_parameters(dimensions)
    replicated += mixtures * _router_parameters(dimensions) + dimensions.hidden_size
    whole = counted_parameters(dimensions)
    return Buckets(whole - of_experts - replicated, replicated, of_experts)


def parameter_estimate(dimensions: Dimensions) -> Estimate:
    """Return the count; a bound alone where a dimension is missing.

    The lower bound takes nothing for what is not known and one embedding unless they
    are known to be two; the upper bound takes biases, and a gate unless there is none.
    """
    embeddings = 2 if dimensions.tied_embeddings is False else 1
    least = dimensions.layers * least_layer_parameters(dimensions)
    least += embeddings * dimensions.embedding
    layer = most_layer_parameters(dimensions)
    most = float("inf")
    if layer is not None and dimensions.vocabulary_size is not None:
        most = dimensions.layers * layer + 2 * dimensions.embedding
        most += 2 * dimensions.hidden_size
    if not dimensions.is_complete:
        return Estimate(least, least, most, "lower_bound", COUNT)
    kind: EstimateKind = "exact" if dimensions.mixture_is_sure else "advisory"
    value = counted_parameters(dimensions)
    return Estimate(value, min(least, value), max(most, value), kind, COUNT)


def least_layer_parameters(dimensions: Dimensions) -> int:
    """Return the parameters of one layer at least: what is not known counts as nothing.

    Where it is not sure which layers are mixtures, the smaller kind of layer; attention
    counts where grouped heads show that it is no latent attention.
    """
    known = dimensions._replace(
        gated_feed_forward=bool(dimensions.gated_feed_forward),
        norms_in_block=0,
    )
    if not dimensions.experts or dimensions.mixture_is_sure:
        return layer_parameters(known)
    dense = layer_parameters(known._replace(experts=0))
    least = min(dense, layer_parameters(known))
    groups = dimensions.key_value_heads or dimensions.attention_heads
    if groups == dimensions.attention_heads:
        least -= attention_parameters(known)
    return least


def most_layer_parameters(dimensions: Dimensions) -> int | None:
    """Return the parameters of one dense layer at most, or None when that is open.

    Counts biases and norms of the GPT block (13 h) as well, under one percent.
    """
    if dimensions.feed_forward_size is None or dimensions.experts:
        return None
    fullest = dimensions._replace(
        key_value_heads=dimensions.key_value_heads or dimensions.attention_heads,
        gated_feed_forward=dimensions.gated_feed_forward is not False,
        has_biases=True,
        norms_in_block=max(dimensions.norms_in_block, NORMS_IN_BLOCK),
    )
    return layer_parameters(fullest)


def fullest_stage_parameters(
    dimensions: Dimensions, stages: int, *, embeddings_are_slots: bool = False
) -> int:
    """Return parameters of the fullest pipeline stage: the first, with the embedding.

    embeddings_are_slots: embedding and head count as a layer each when layers are
    dealt out, so that the outer stages have one layer less (Megatron-LM
    --account-for-embedding-in-pipeline-split and its like).
    """
    if stages <= 1:
        return counted_parameters(dimensions)
    layer, embedding = layer_parameters(dimensions), dimensions.embedding
    if embeddings_are_slots:
        slots = -(-(dimensions.layers + 2) // stages)
        return max(embedding + (slots - 1) * layer, slots * layer)
    return -(-dimensions.layers // stages) * layer + embedding


class StageImbalance(Record):
    """The pipeline stage with the most work, counted from 0, over the mean of all.

    head_layers: how many layers the output layer costs.
    """

    ratio: float
    stage: int
    head_layers: float


def stage_imbalance(dimensions: Dimensions, split: Sequence[int]) -> StageImbalance:
    """Return how unequal stages are in work: what each token is multiplied with.

    The output layer is work of the last stage; an embedding is looked up and costs
    nothing. Of mixtures only the experts that a token passes count.

    Args:
        dimensions: of the model.
        split: the layers of each stage, first to last.

    """
    head = dimensions.embedding
    layer = (active_matmul_parameters(dimensions) - head) / dimensions.layers
    work = [count * layer for count in split]
    work[-1] += head
    most = max(work)
    mean = sum(work) / len(work)
    return StageImbalance(most / mean, work.index(most), head / layer)


def megatron_feed_forward_size(hidden_size: int, *, is_gated: bool) -> int:
    """Return the feed-forward size that Megatron-LM takes when none is given.

    Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).
    """
    if not is_gated:
        return 4 * hidden_size
    return int(4 * hidden_size * 2 / 3 / 64) * 64
