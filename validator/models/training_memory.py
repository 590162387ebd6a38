"""Bytes of weights, gradients and optimizer state on one GPU.

Each trained parameter keeps weights, gradients and optimizer state; a sharding stage
says from which of them on they are cut over ranks. What framework and plan settle is a
count; what they leave open is an interval, whose lower end is what no release can do
without and whose upper end counts every copy that some release keeps. Sources:
Rajbhandari et al. 2020 (arXiv:1910.02054), NVIDIA/Megatron-LM
megatron/training/theoretical_memory_usage.py, DeepSpeed stage_1_and_2.py and stage3.py,
pytorch/torchtitan, pytorch/torchtune README, bigscience-workshop/bigscience.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, EstimateKind, exactly
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


class TrainingWork(Record):
    """What one rank computes at once.

    tokens: micro-batch x sequence / context-parallel ranks. recompute: none, selective
    (Megatron's: attention scores, or some layers), operations (torchtitan's selective
    checkpointing of operations), full, or empty where it is not known.
    micro_batches_in_flight: whose activations a stage of 1F1B holds together.
    schedule_is_sure: False where stages may interleave or hold fewer. loss: a key of
    LOGIT_BYTES, or empty. keeps_activations: False where they may go to host memory.
    tokens_are_sure: each sequence is full; padding and short samples leave fewer.
    shares_vocabulary: tensor-parallel ranks are known never to gather the logits.
    trains_weights: False under an adapter, whose frozen products need no inputs.
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
    shares_vocabulary: bool = False
    trains_weights: bool = True

    @property
    def bytes_of_element(self) -> int:
        """Of one stored activation."""
        return _HALF_BYTES if self.is_half else 2 * _HALF_BYTES


def gpt_layer_bytes(
    case: str, sequence: int, batch: int, hidden: int, heads: int, tensor_ranks: int
) -> float:
    """Return bytes of a GPT block with dropout in 16 bits (arXiv:2205.05198 table 2).

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
    """Return the elements of a token in one layer.

    Nothing is recomputed, scores stay on chip, there is no dropout.
    """
    heads, key_values = dimensions.attention_heads, dimensions.key_value_heads or 0
    attention = 2 * (heads + 2 * key_values) * dimensions.size_of_head
    factor = 4 if dimensions.gated_feed_forward else 2
    return (
        8 * dimensions.hidden_size
        + attention
        + factor * (dimensions.feed_forward_size or 0)
    )


def operation_checkpoint_elements(dimensions: Dimensions) -> int:
    """Return a token's elements in a layer if every other matrix product is kept.

    So does torchtitan.
    """
    heads, key_values = dimensions.attention_heads, dimensions.key_value_heads or 0
    attention = (2 * heads + key_values) * dimensions.size_of_head
    feed_forward = dimensions.feed_forward_size or 0
    return 2 * dimensions.hidden_size + attention + feed_forward


def megatron_selective_elements(dimensions: Dimensions) -> int:
    """Return a token's elements in a layer if the attention core is recomputed.

    So does Megatron-core.
    """
    heads, key_values = dimensions.attention_heads, dimensions.key_value_heads or 0
    attention = (2 * heads + 2 * key_values) * dimensions.size_of_head
    feed_forward = 3 * (dimensions.feed_forward_size or 0)
    return 4 * dimensions.hidden_size + attention + feed_forward


def frozen_share(
    *, is_gated: bool, targets_all: bool, four_bit_share: float = 0.0
) -> float:
    """Return what an adapter on a frozen base keeps of `layer_elements`."""
    share = FROZEN_SHARE_GATED if is_gated else FROZEN_SHARE_PARALLEL
    return share + (ALL_TARGETS_SHARE if targets_all else 0.0) + four_bit_share


def micro_batches_in_flight(micro_batches: int, stages: int, stage: int = 0) -> int:
    """Return the micro-batches whose activations a stage of the 1F1B schedule holds."""
    return min(micro_batches, stages - stage)


def interleave_factor(stages: int, chunks: int) -> float:
    """Return what interleaving multiplies them by in Megatron-LM's own estimator.

    Not a bound: torchtitan's interleaved 405B run needed 12 percent less than 1F1B.
    """
    return 1 + (stages - 1) / (stages * chunks)


def boundary_bytes(dimensions: Dimensions, work: TrainingWork) -> float:
    """Return a layer's input for a micro-batch, which full recomputation keeps."""
    ranks = work.tensor_ranks if work.shards_sequence else 1
    return work.bytes_of_element * dimensions.hidden_size * work.tokens / ranks


def most_layer_bytes(dimensions: Dimensions, work: TrainingWork) -> float:
    """Return the bytes of one layer at most.

    Scores are stored unless flash is sure, or they are what is recomputed.
    """
    if dimensions.feed_forward_size is None or dimensions.experts:
        return float("inf")
    heads = dimensions.attention_heads
    key_values = dimensions.key_value_heads or heads
    common = 8 * dimensions.hidden_size
    split = 2 * (heads + 2 * key_values) * dimensions.size_of_head
    split += 4 * dimensions.feed_forward_size
    if work.attention not in _FLASH and work.recompute != "selective":
        split += 5 * heads * work.sequence_length // 2
    ranks = work.tensor_ranks
    elements = split / ranks + common / (ranks if work.shards_sequence else 1)
    return elements * work.bytes_of_element * work.tokens


def kept_elements(dimensions: Dimensions, work: TrainingWork) -> float | None:
    """Return the best count of elements of a token and layer; None where it is open."""
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


def least_kept_elements(dimensions: Dimensions, work: TrainingWork) -> int:
    """Return the elements of a token and layer that nobody can do without.

    The layer's input; where products are not computed again also what their weight
    gradients need: both norms' inputs, queries, keys, values and the output of
    attention, and the inner width of the feed-forward block, twice where it is gated.
    """
    hidden = dimensions.hidden_size
    # What is recomputed selectively may be the feed-forward block (mbridge-05, -06).
    keeps_products = work.recompute == "none" and work.trains_weights
    if not keeps_products or dimensions.experts:
        return hidden
    heads = dimensions.attention_heads
    pairs = dimensions.key_value_heads or 1
    inner = 2 if dimensions.gated_feed_forward else 1
    attention = 2 * (heads + pairs) * dimensions.size_of_head
    return 2 * hidden + attention + inner * (dimensions.feed_forward_size or 0)


def activation_estimate(
    dimensions: Dimensions, work: TrainingWork, layers: int
) -> Estimate:
    """Return what `layers` layers keep for all micro-batches in flight.

    Lower: what no code can do without in that mode. Upper: every layer in full, unless
    full recomputation is sure, which keeps inputs, one output and one layer.
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
        lower = token * least_kept_elements(dimensions, work) * least_held
    kept = kept_elements(dimensions, work)
    if kept is None or not work.keeps_activations:
        return Estimate(lower, lower, upper, "lower_bound", COUNT)
    return Estimate(max(kept * token * held, lower), lower, upper, "calibrated", COUNT)


def working_set_bytes(dimensions: Dimensions, work: TrainingWork) -> float:
    """Return the bytes of one layer as it is computed again, nothing thrown away."""
    share = COMPILED_SHARE if work.is_compiled else 1.0
    token = work.bytes_of_element * work.tokens / work.tensor_ranks
    return share * layer_elements(dimensions) * token


def gpt_working_set_bytes(
    sequence: int, batch: int, hidden: int, heads: int, tensor_ranks: int
) -> float:
    """Return the same of a GPT block that stores attention scores (no flash kernel)."""
    scores = 5 * heads * sequence * sequence * batch / tensor_ranks
    return sequence * batch * hidden * (10 + 24 / tensor_ranks) + scores


def logit_bytes(
    tokens: float, vocabulary: int, tensor_ranks: int, each: float
) -> float:
    """Return logits and their copies, cut over the ranks that share the vocabulary."""
    return each * tokens * vocabulary / tensor_ranks


def logit_estimate(dimensions: Dimensions, work: TrainingWork) -> Estimate:
    """Return the logits of the rank that computes the loss.

    Open if the loss is unknown.
    """
    source = "rows of memory.csv by kind of loss"
    vocabulary = dimensions.vocabulary_size
    if vocabulary is None:
        return Estimate(0.0, 0.0, float("inf"), "lower_bound", source)
    ranks = work.tensor_ranks
    is_cut = work.shares_vocabulary or work.loss == "vocabulary-parallel"
    most_ranks = ranks if is_cut else 1
    most = logit_bytes(work.tokens, vocabulary, most_ranks, _MOST_LOGIT_BYTES)
    each = LOGIT_BYTES.get(work.loss)
    if each is None:
        return Estimate(0.0, 0.0, most, "lower_bound", source)
    value = logit_bytes(work.tokens, vocabulary, ranks, each)
    return Estimate(value, 0.0, most, "calibrated", source)


# ZeRO stages: what is sharded from which stage on.
OPTIMIZER_STAGE = 1
GRADIENT_STAGE = 2
WEIGHT_STAGE = 3

GIB = 2**30
HALF_PRECISION_BITS = 16
FEWEST_SHARE = 4 / HALF_PRECISION_BITS  # of a frozen base, loaded in 4 bits
_BITS_OF_BYTE = 8
_HALF = 2.0
_FULL = 4.0
_ADAM_MOMENTS = 8.0  # two of 32 bits
# Scales of 4-bit and 8-bit blocks, and the layers that stay in 16 bits. The weakest of
# the published readings are 0.97 of the base in 16 bits, 0.9 of one in 4 bits.
_LEAST_QUANTIZED_SHARE = 0.9
_MOST_QUANTIZED_BYTES = 0.5
# nf4 in blocks of 64 with 32-bit scales; the scales quantized again (arXiv:2305.14314).
NF4_BYTES = 0.5625
NF4_DOUBLE_QUANTIZED_BYTES = 0.516
# Rank 256 on all linear layers of a 7B model trains 9 percent of its parameters.
_MOST_ADAPTER_SHARE = 0.1
_COMPRESSED = (
    "8bit",
    "4bit",
    "fp8",
    "mini",
    "galore",
    "apollo",
    "paged",
    "lomo",
    "badam",
)

_ZERO = "arXiv:1910.02054, DeepSpeed stage_1_and_2.py and stage3.py"
_MEGATRON = "NVIDIA/Megatron-LM theoretical_memory_usage.py"
_TORCH = "pytorch/torchtitan, pytorch/torchtune README"


class BytesPerParameter(Record):
    """What training keeps of each parameter before anything is sharded."""

    weights: Estimate
    gradients: Estimate
    optimizer: Estimate

    def sum(self) -> Estimate:
        """Return the sum of all three."""
        return self.weights + self.gradients + self.optimizer


class Scheme(Record):
    """How parameters are trained; an empty text is not known.

    Attributes:
        compute_dtype: bf16, fp16, fp8 or fp32.
        engine: deepspeed or megatron, which keep 16-bit weights beside 32-bit copies
            in the optimizer; torch for FSDP, DDP and plain PyTorch.
        parameter_dtype: of the weights that the optimizer updates, under torch.
        accumulate_dtype: of the gradients that micro-batches add up in.
        optimizer: its name in lower case.
        optimizer_state_dtype: where it is not that of the weights.
        frees_gradients: the optimizer steps inside the backward pass.
        base_bits: of a frozen base model under an adapter; None where all parameters
            train.

    """

    compute_dtype: str
    engine: str = "torch"
    parameter_dtype: str = ""
    accumulate_dtype: str = ""
    optimizer: str = ""
    optimizer_state_dtype: str = ""
    frees_gradients: bool = False
    base_bits: int | None = None

    @property
    def keeps_master_weights(self) -> bool:
        """16-bit weights beside 32-bit copies."""
        return self.engine in {"deepspeed", "megatron"} and self.compute_dtype != "fp32"


class Sharding(Record):
    """Over how many ranks the states are cut.

    model_ranks: tensor x pipeline parallel ranks. shard_ranks: ranks of the group that
    `stage` shards over, at most; fewest_shard_ranks: at least, where context-parallel
    ranks may not count.
    """

    model_ranks: int
    shard_ranks: int
    fewest_shard_ranks: int
    stage: int
    offloads_optimizer: bool = False
    offloads_weights: bool = False


def bytes_per_parameter(scheme: Scheme) -> BytesPerParameter:
    """Return bytes of weight, gradient and optimizer state of a trained parameter."""
    if scheme.base_bits is not None:
        return _adapter_bytes(scheme.base_bits)
    if not scheme.keeps_master_weights:
        return _torch_bytes(scheme)
    weights = exactly(_HALF, _ZERO if scheme.engine == "deepspeed" else _MEGATRON)
    if scheme.compute_dtype == "fp8":
        # Megatron-core may keep them in 8 bits (--fp8-param-gather).
        weights = weights._replace(lower=_HALF / 2)
    if scheme.engine == "deepspeed":
        gradients, optimizer = _deepspeed_bytes(scheme)
    else:
        gradients, optimizer = _megatron_bytes(scheme)
    if scheme.frees_gradients:
        gradients = _between(0.0, gradients.upper, gradients.source)
    return BytesPerParameter(weights, gradients, optimizer)


def _deepspeed_bytes(scheme: Scheme) -> tuple[Estimate, Estimate]:
    """Return 16-bit gradients and in 32 bits weights, gradient and moments: 2 + 16.

    Accumulation in 32 bits adds a whole buffer of 4 (bf16 optimizer).
    """
    accumulates = {"bf16": _HALF, "fp16": _HALF, "fp32": _HALF + _FULL}
    gradients = _between(_HALF, _HALF + _FULL, _ZERO)
    kept = accumulates.get(scheme.accumulate_dtype)
    if kept is not None:
        gradients = exactly(kept, _ZERO)
    moments = _moment_bytes(scheme)
    if _is_narrow(scheme.optimizer_state_dtype):
        return gradients, _between(0.0, moments.upper + 2 * _FULL, _ZERO)
    if kept is None or moments.kind != "exact":
        copies = _between(_FULL, 2 * _FULL, _ZERO)
        return gradients, copies + moments
    return gradients, Estimate(
        moments.value + 2 * _FULL,
        # Releases differ in whether the 32-bit gradient stays allocated.
        moments.lower + _FULL,
        moments.upper + 2 * _FULL,
        "exact",
        _ZERO,
    )


def _megatron_bytes(scheme: Scheme) -> tuple[Estimate, Estimate]:
    """Return one gradient buffer, of 32 bits unless narrower; 4 + 8 in Adam."""
    gradients = _between(_HALF, _HALF + _FULL, _MEGATRON)
    if scheme.accumulate_dtype:
        is_wide = scheme.accumulate_dtype == "fp32"
        gradients = exactly(_FULL if is_wide else _HALF, _MEGATRON)
    moments = _moment_bytes(scheme)
    if _is_narrow(scheme.optimizer_state_dtype):
        return gradients, _between(0.0, moments.upper + 2 * _FULL, _MEGATRON)
    weights = exactly(_FULL, _MEGATRON)
    if "distributed_fused" in scheme.optimizer:
        # Apex cuts gradients too, and may keep but the lower halves of the weights.
        gradients = _between(0.0, gradients.upper, _MEGATRON)
        weights = _between(_HALF, _FULL, _MEGATRON)
    return gradients, weights + moments


def _torch_bytes(scheme: Scheme) -> BytesPerParameter:
    """Return the weights in their own dtype, gradients and moments like them."""
    is_wide = "fp32" in {scheme.compute_dtype, scheme.parameter_dtype}
    known = is_wide or bool(scheme.parameter_dtype)
    moments = _moment_bytes(scheme)
    each = _FULL if is_wide else _HALF
    # Autocast keeps copies in 16 bits beside weights in 32.
    copies = 0.0 if scheme.compute_dtype == "fp32" else _HALF
    weights = Estimate(
        each, each, _FULL + copies, "exact" if known else "lower_bound", _TORCH
    )
    if scheme.frees_gradients:
        gradients = _between(0.0, _FULL, _TORCH)
    else:
        # Others than Adam may free gradients as they go.
        least = each if _is_adam(scheme.optimizer) else 0.0
        gradients = weights._replace(lower=least, upper=_FULL)
    return BytesPerParameter(weights, gradients, moments)


def _moment_bytes(scheme: Scheme) -> Estimate:
    """Return the bytes of the optimizer's own state; Adam keeps two moments."""
    name = scheme.optimizer.lower()
    if "adam" in name and "8bit" in name:
        return Estimate(_HALF, 0.0, _ADAM_MOMENTS, "exact", _TORCH)
    if not _is_adam(name):
        return _between(0.0, _ADAM_MOMENTS, _TORCH)
    is_wide = scheme.keeps_master_weights or "fp32" in {
        scheme.compute_dtype,
        scheme.parameter_dtype,
    }
    if _is_narrow(scheme.optimizer_state_dtype):
        return _between(_HALF, _ADAM_MOMENTS, _TORCH)
    if is_wide:
        return exactly(_ADAM_MOMENTS, _TORCH)
    kind: EstimateKind = "exact" if scheme.parameter_dtype else "lower_bound"
    return Estimate(_FULL, _FULL, _ADAM_MOMENTS, kind, _TORCH)


def _is_narrow(dtype: str) -> bool:
    return dtype not in {"", "fp32"}


def _is_adam(optimizer: str) -> bool:
    """Return whether the optimizer keeps two moments, no narrower than the weights."""
    name = optimizer.lower()
    return "adam" in name and not any(part in name for part in _COMPRESSED)


def _between(least: float, most: float, source: str) -> Estimate:
    """Return bounds alone; the best value is the one that cannot be argued with."""
    return Estimate(least, least, most, "lower_bound", source)


def _adapter_bytes(base_bits: int) -> BytesPerParameter:
    """Return bytes of a frozen base model with a small trained part (LoRA, QLoRA)."""
    base = base_bits / _BITS_OF_BYTE
    least = min(base, _HALF) * _LEAST_QUANTIZED_SHARE
    most = base + _MOST_QUANTIZED_BYTES if base_bits <= _BITS_OF_BYTE else _FULL
    trained = _MOST_ADAPTER_SHARE
    return BytesPerParameter(
        Estimate(base, least, most + _FULL * trained, "calibrated", _TORCH),
        _between(0.0, _FULL * trained, _TORCH),
        _between(0.0, _ADAM_MOMENTS * trained, _TORCH),
    )


def frozen_base_bytes(
    parameters: float, embeddings: float, bits: int, *, is_double_quantized: bool
) -> float:
    """Return the weights of a frozen base; with 4 bits, two parts stay in 16 bits."""
    if bits > _BITS_OF_BYTE // 2:
        return parameters * bits / _BITS_OF_BYTE
    each = NF4_DOUBLE_QUANTIZED_BYTES if is_double_quantized else NF4_BYTES
    return (parameters - embeddings) * each + embeddings * _HALF


def state_bytes(parameters: Estimate, scheme: Scheme, sharding: Sharding) -> Estimate:
    """Return the bytes of model states on one GPU.

    Args:
        parameters: that the ranks of one model-parallel group hold together; the upper
            bound may count the fullest rank times the number of ranks.
        scheme: bytes of each parameter.
        sharding: cuts and offloads.

    """
    kept = bytes_per_parameter(scheme)
    weights = _cut(kept.weights, sharding, WEIGHT_STAGE)
    gradients = _cut(kept.gradients, sharding, GRADIENT_STAGE)
    optimizer = _cut(kept.optimizer, sharding, OPTIMIZER_STAGE)
    if scheme.engine == "torch" and sharding.stage == GRADIENT_STAGE:
        weights, gradients = _gathered_weights(kept, scheme, sharding)
    if scheme.engine == "deepspeed" and sharding.stage >= WEIGHT_STAGE:
        # The shard of gradients is that of the optimizer: 18 / n, not 20 / n.
        least = min(kept.gradients.lower, _HALF) / sharding.shard_ranks
        gradients = gradients._replace(value=0.0, lower=least)
    if sharding.offloads_optimizer:
        optimizer = exactly(0.0, _ZERO)
        # ZeRO-Offload moves gradients to the host as well, Megatron-LM does not.
        if scheme.engine != "megatron":
            gradients = Estimate(
                0.0, 0.0, gradients.upper, gradients.kind, gradients.source
            )
    if sharding.offloads_weights:
        weights = Estimate(0.0, 0.0, weights.upper, weights.kind, weights.source)
    total = weights + gradients + optimizer
    return Estimate(
        total.value * parameters.value / sharding.model_ranks,
        total.lower * parameters.lower / sharding.model_ranks,
        total.upper * parameters.upper / sharding.model_ranks,
        (total + parameters).kind,
        total.source,
    )


def _gathered_weights(
    kept: BytesPerParameter, scheme: Scheme, sharding: Sharding
) -> tuple[Estimate, Estimate]:
    """Return FSDP's weights and gradients if weights stay whole until the backward.

    Beside their shards lie whole copies in the dtype of the matrix products. At the end
    of the forward pass there are no gradients yet.
    """
    shards = _cut(kept.weights, sharding, 0)
    copy = _FULL if scheme.compute_dtype == "fp32" else _HALF
    weights = shards + Estimate(copy, copy, _FULL, "exact", _TORCH)
    gradients = _cut(kept.gradients, sharding, 0)
    # Between micro-batches of a pipeline gradients may stay whole.
    return weights, gradients._replace(lower=0.0, upper=kept.gradients.upper)


def host_bytes(parameters: Estimate, scheme: Scheme, sharding: Sharding) -> Estimate:
    """Return what a rank moves to the host: optimizer state, weights if offloaded.

    Buffers of the offload engines come on top; they are not counted.
    """
    kept = bytes_per_parameter(scheme)
    total = exactly(0.0, _ZERO)
    if sharding.offloads_optimizer:
        total += _cut(kept.optimizer, sharding, OPTIMIZER_STAGE)
    if sharding.offloads_weights:
        total += _cut(kept.weights, sharding, WEIGHT_STAGE)
    return Estimate(
        total.value * parameters.value / sharding.model_ranks,
        total.lower * parameters.lower / sharding.model_ranks,
        float("inf"),
        "lower_bound",
        total.source,
    )


def _cut(kept: Estimate, sharding: Sharding, from_stage: int) -> Estimate:
    if sharding.stage < from_stage:
        return kept
    return kept._replace(
        value=kept.value / sharding.shard_ranks,
        lower=kept.lower / sharding.shard_ranks,
        upper=kept.upper / sharding.fewest_shard_ranks,
    )


def gib_to_gb(gib: float) -> float:
    """Return GiB of 2^30 bytes as GB of 1e9; they are 7.4 percent apart."""
    return gib * GIB / 1e9
