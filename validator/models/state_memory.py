"""Bytes of weights, gradients and optimizer state on one GPU.

Each trained parameter keeps weights, gradients and optimizer state; a sharding stage
says from which of them on they are cut over ranks. What framework and plan settle is a
count; what they leave open is an interval, whose lower end is what no release can do
without and whose upper end counts every copy that some release keeps. Sources:
Rajbhandari et al. 2020 (arXiv:1910.02054), NVIDIA/Megatron-LM
megatron/training/theoretical_memory_usage.py, DeepSpeed stage_1_and_2.py and stage3.py,
pytorch/torchtitan, pytorch/torchtune README, bigscience-workshop/bigscience.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, EstimateKind, exactly

# ZeRO stages: what is sharded from which stage on.
OPTIMIZER_STAGE = 1
GRADIENT_STAGE = 2
WEIGHT_STAGE = 3

GIB = 2**30
HALF_PRECISION_BITS = 16
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
        """All three."""
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
    """Bytes of weights, gradients and optimizer state of one trained parameter."""
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
    """16-bit gradients and in 32 bits weights, gradient and moments: 2 + 16.

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
    """One gradient buffer, 32 bits unless accumulation is narrower; 4 + 8 in Adam."""
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
    """Weights in their own dtype, gradients and moments like them."""
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
    """Bytes of the optimizer's own state; Adam keeps two moments."""
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
    """Whether the optimizer keeps two moments in the dtype of the weights or wider."""
    name = optimizer.lower()
    return "adam" in name and not any(part in name for part in _COMPRESSED)


def _between(least: float, most: float, source: str) -> Estimate:
    """Nothing but bounds; the best value is the one that cannot be argued with."""
    return Estimate(least, least, most, "lower_bound", source)


def _adapter_bytes(base_bits: int) -> BytesPerParameter:
    """A frozen base model and a small trained part beside it (LoRA, QLoRA)."""
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
    """Weights of a frozen base: 4-bit ones keep embedding and head in 16 bits."""
    if bits > _BITS_OF_BYTE // 2:
        return parameters * bits / _BITS_OF_BYTE
    each = NF4_DOUBLE_QUANTIZED_BYTES if is_double_quantized else NF4_BYTES
    return (parameters - embeddings) * each + embeddings * _HALF


def state_bytes(parameters: Estimate, scheme: Scheme, sharding: Sharding) -> Estimate:
    """Bytes of model states on one GPU.

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
    """Weights and gradients of FSDP that leaves weights whole until the backward pass.

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
    """Bytes that one rank moves to the host: optimizer state, and weights if asked.

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
    """GiB of 2^30 bytes as GB of 1e9; they are 7.4 percent apart."""
    return gib * GIB / 1e9
