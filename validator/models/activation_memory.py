"""Bytes that one GPU keeps between the forward and the backward pass, and logits.

Counts what the backward pass of a transformer layer needs. Sources: Korthikanti et al.
2022 (arXiv:2205.05198) for GPT blocks; operation counts for gated blocks with a flash
kernel; factors fitted on published runs, each named beside its rows.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate
from speccheck.validator.models.parameters import Dimensions

Recompute = Literal["", "none", "selective", "operations", "full"]

_HALF_BYTES = 2
# torch.compile keeps less than the plain count: fitted on tune-04 of memory.csv.
COMPILED_SHARE = 0.73
# A frozen base needs no inputs of its own weight gradients: shares fitted on the 43
# rows litgpt-01 to litgpt-63 of adapters, rank 8 on query and value.
FROZEN_SHARE_GATED = 0.85
FROZEN_SHARE_PARALLEL = 0.55
# Adapters on all linear layers keep their inputs again: litgpt-27 to litgpt-63.
ALL_TARGETS_SHARE = 0.30
# bitsandbytes keeps dequantized weights: rows of 2023 (litgpt-01 to -23), of 2024.
FOUR_BIT_SHARE_2023 = 0.25
FOUR_BIT_SHARE = 0.48
MOST_ADAPTER_SHARE = 1.0 + ALL_TARGETS_SHARE + FOUR_BIT_SHARE
_FLASH = frozenset({"flash", "sdpa", "flex", "fused"})
COUNT = "operation count of the layer; arXiv:2205.05198"

# Bytes of one logit. eager: 32-bit cross entropy keeps four copies (torchtitan tt-01,
# tt-02, torchtune tune-02, tune-03, 50 adapter rows). compiled: tt-03, tt-04 and
# tune-03. vocabulary-parallel: Megatron's fused loss, 4 by its own estimator, 10 by
# swift-01. chunked: torchtune tune-04 to tune-08; with a frozen head tune-09 to -18.
LOGIT_BYTES: dict[str, float] = {
    "eager": 16.0,
    "compiled": 14.0,
    "vocabulary-parallel": 10.0,
    "chunked": 4.0,
    "chunked-frozen-head": 2.6,
    "fused-linear": 0.0,
}
_MOST_LOGIT_BYTES = 16.0
# Interleaving holds less than twice as much: 1 + (p - 1) / (p v).
_MOST_INTERLEAVED = 2


class Work(Record):
    """What one rank computes at once.

    tokens: micro-batch x sequence / context-parallel ranks. recompute: none, selective
    (Megatron's: attention scores, or some layers), operations (torchtitan's selective
    checkpointing of operations), full, or empty where it is not known.
    micro_batches_in_flight: whose activations a stage of 1F1B holds together.
    schedule_is_sure: False where stages may interleave or hold fewer. loss: a key of
    LOGIT_BYTES, or empty. keeps_activations: False where they may go to host memory.
    tokens_are_sure: each sequence is full; padding and short samples leave fewer.
    """

    tokens: int
    sequence_length: int
    tensor_ranks: int = 1
    pipeline_ranks: int = 1
    shards_sequence: bool = False
    recompute: Recompute = ""
    attention: str = ""
    is_half: bool = True
    micro_batches_in_flight: int = 1
    schedule_is_sure: bool = True
    is_compiled: bool | None = None
    loss: str = ""
    keeps_activations: bool = True
    tokens_are_sure: bool = True

    @property
    def bytes_of_element(self) -> int:
        """Of one stored activation."""
        return _HALF_BYTES if self.is_half else 2 * _HALF_BYTES


def gpt_layer_bytes(
    case: str, sequence: int, batch: int, hidden: int, heads: int, tensor_ranks: int
) -> float:
    """A GPT block with dropout in 16 bits, by arXiv:2205.05198 table 2.

    case: none, tp, tp-sp, selective-tp, selective-tp-sp, full or full-sp.
    """
    scores = 5 * heads * sequence / hidden
    split = 24 + (0 if case.startswith("selective") else scores)
    each = {
        "none": 34 + scores,
        "tp": 10 + split / tensor_ranks,
        "selective-tp": 10 + split / tensor_ranks,
        "tp-sp": (10 + split) / tensor_ranks,
        "selective-tp-sp": (10 + split) / tensor_ranks,
        "full": 2.0,
        "full-sp": 2.0 / tensor_ranks,
    }[case]
    return sequence * batch * hidden * each


def layer_elements(dimensions: Dimensions) -> int:
    """Of a token in one layer: nothing recomputed, scores on chip, no dropout."""
    heads, key_values = dimensions.attention_heads, dimensions.key_value_heads or 0
    attention = 2 * (heads + 2 * key_values) * dimensions.size_of_head
    factor = 4 if dimensions.gated_feed_forward else 2
    return (
        8 * dimensions.hidden_size
        + attention
        + factor * (dimensions.feed_forward_size or 0)
    )


def operation_checkpoint_elements(dimensions: Dimensions) -> int:
    """Of a token in one layer where every other matrix product is kept (torchtitan)."""
    heads, key_values = dimensions.attention_heads, dimensions.key_value_heads or 0
    attention = (2 * heads + key_values) * dimensions.size_of_head
    feed_forward = dimensions.feed_forward_size or 0
    return 2 * dimensions.hidden_size + attention + feed_forward


def megatron_selective_elements(dimensions: Dimensions) -> int:
    """Of a token in one layer where Megatron-core recomputes the attention core."""
    heads, key_values = dimensions.attention_heads, dimensions.key_value_heads or 0
    attention = (2 * heads + 2 * key_values) * dimensions.size_of_head
    feed_forward = 3 * (dimensions.feed_forward_size or 0)
    return 4 * dimensions.hidden_size + attention + feed_forward


def frozen_share(
    *, is_gated: bool, targets_all: bool, four_bit_share: float = 0.0
) -> float:
    """What an adapter on a frozen base keeps of `layer_elements`."""
    share = FROZEN_SHARE_GATED if is_gated else FROZEN_SHARE_PARALLEL
    return share + (ALL_TARGETS_SHARE if targets_all else 0.0) + four_bit_share


def micro_batches_in_flight(micro_batches: int, stages: int, stage: int = 0) -> int:
    """Micro-batches whose activations a stage of the 1F1B schedule holds."""
    return min(micro_batches, stages - stage)


def interleave_factor(stages: int, chunks: int) -> float:
    """What interleaving multiplies them by in Megatron-LM's own estimator.

    Not a bound: torchtitan's interleaved 405B run needed 12 percent less than 1F1B.
    """
    return 1 + (stages - 1) / (stages * chunks)


def boundary_bytes(dimensions: Dimensions, work: Work) -> float:
    """Input of one layer for one micro-batch, which full recomputation keeps."""
    ranks = work.tensor_ranks if work.shards_sequence else 1
    return work.bytes_of_element * dimensions.hidden_size * work.tokens / ranks


def most_layer_bytes(dimensions: Dimensions, work: Work) -> float:
    """One layer at most, with stored scores unless a flash kernel is sure."""
    if dimensions.feed_forward_size is None or dimensions.experts:
        return float("inf")
    heads = dimensions.attention_heads
    key_values = dimensions.key_value_heads or heads
    common = 8 * dimensions.hidden_size
    split = 2 * (heads + 2 * key_values) * dimensions.size_of_head
    split += 4 * dimensions.feed_forward_size
    if work.attention not in _FLASH:
        split += 5 * heads * work.sequence_length // 2
    ranks = work.tensor_ranks
    elements = split / ranks + common / (ranks if work.shards_sequence else 1)
    return elements * work.bytes_of_element * work.tokens


def kept_elements(dimensions: Dimensions, work: Work) -> float | None:
    """The best count of elements of a token and layer; None where it is open."""
    if work.recompute == "full":
        return float(dimensions.hidden_size)
    if dimensions.experts or dimensions.feed_forward_size is None:
        return None
    if work.recompute == "operations":
        return float(operation_checkpoint_elements(dimensions))
    if work.recompute == "selective":
        return float(megatron_selective_elements(dimensions))
    if work.recompute == "none":
        # Not known to be compiled: the smaller of the two.
        share = 1.0 if work.is_compiled is False else COMPILED_SHARE
        return share * layer_elements(dimensions)
    return None


def activation_estimate(dimensions: Dimensions, work: Work, layers: int) -> Estimate:
    """What `layers` layers keep for all micro-batches in flight.

    Lower: nothing but the inputs of layers, which every mode keeps. Upper: every layer
    in full, unless full recomputation is sure, which keeps inputs, one output and one
    layer.
    """
    held = work.micro_batches_in_flight
    most_held = held if work.schedule_is_sure else _MOST_INTERLEAVED * held
    layer = most_layer_bytes(dimensions, work)
    boundary = boundary_bytes(dimensions, work)
    if work.recompute == "full":
        upper = boundary * (layers + 1) * most_held + layer
    else:
        upper = layer * layers * most_held
    token = work.bytes_of_element * work.tokens / work.tensor_ranks * layers
    lower = 0.0
    if work.keeps_activations and work.tokens_are_sure:
        least_held = held if work.schedule_is_sure else 1
        lower = token * dimensions.hidden_size * least_held
    kept = kept_elements(dimensions, work)
    if kept is None or not work.keeps_activations:
        return Estimate(lower, lower, upper, "lower_bound", COUNT)
    return Estimate(max(kept * token * held, lower), lower, upper, "calibrated", COUNT)


def working_set_bytes(dimensions: Dimensions, work: Work) -> float:
    """One layer as it is computed again, nothing of it thrown away."""
    share = COMPILED_SHARE if work.is_compiled else 1.0
    token = work.bytes_of_element * work.tokens / work.tensor_ranks
    return share * layer_elements(dimensions) * token


def gpt_working_set_bytes(
    sequence: int, batch: int, hidden: int, heads: int, tensor_ranks: int
) -> float:
    """The same of a GPT block whose attention scores are stored (no flash kernel)."""
    scores = 5 * heads * sequence * sequence * batch / tensor_ranks
    return sequence * batch * hidden * (10 + 24 / tensor_ranks) + scores


def logit_bytes(
    tokens: float, vocabulary: int, tensor_ranks: int, each: float
) -> float:
    """Logits and their copies, cut over the ranks that share the vocabulary."""
    return each * tokens * vocabulary / tensor_ranks


def logit_estimate(dimensions: Dimensions, work: Work) -> Estimate:
    """Logits of the rank that computes the loss; open where the loss is not known."""
    source = "rows of memory.csv by kind of loss"
    vocabulary = dimensions.vocabulary_size
    if vocabulary is None:
        return Estimate(0.0, 0.0, float("inf"), "lower_bound", source)
    ranks = work.tensor_ranks
    most = logit_bytes(work.tokens, vocabulary, ranks, _MOST_LOGIT_BYTES)
    each = LOGIT_BYTES.get(work.loss)
    if each is None:
        return Estimate(0.0, 0.0, most, "lower_bound", source)
    value = logit_bytes(work.tokens, vocabulary, ranks, each)
    return Estimate(value, 0.0, most, "calibrated", source)
