"""Bytes of weights, gradients and optimizer state on one GPU, as an interval.

The lower end is what the scheme cannot do without: it is at or below each of 197
published readings whose scheme is told, so that it alone may be called an error. The
upper end counts every copy that some release keeps. Sources: Rajbhandari et al. 2020
(arXiv:1910.02054), NVIDIA/Megatron-LM megatron/training/theoretical_memory_usage.py,
DeepSpeed stage_1_and_2.py and stage3.py, pytorch/torchtitan, pytorch/torchtune README.
"""

from speccheck.validator.evidence.record import Record

# ZeRO stages: what is sharded from which stage on.
OPTIMIZER_STAGE = 1
GRADIENT_STAGE = 2
WEIGHT_STAGE = 3

HALF_PRECISION_BITS = 16
_BITS_OF_BYTE = 8
# Scales of 4-bit and 8-bit blocks, and the layers that stay in 16 bits.
_LEAST_QUANTIZED_SHARE = 0.9
_MOST_QUANTIZED_BYTES = 0.5
# Rank 256 on all linear layers of a 7B model trains 9 percent of its parameters.
_MOST_ADAPTER_SHARE = 0.1


class Interval(Record):
    """Bytes between two bounds."""

    least: float
    most: float

    def __add__(self, other: object) -> "Interval":
        """Both bounds added up."""
        if not isinstance(other, Interval):
            return NotImplemented
        return Interval(self.least + other.least, self.most + other.most)


class BytesPerParameter(Record):
    """What training keeps of each parameter before anything is sharded."""

    weights: Interval
    gradients: Interval
    optimizer: Interval


class Scheme(Record):
    """How parameters are trained.

    keeps_master_weights: 16-bit weights beside 32-bit copies in the optimizer, as
    DeepSpeed and Megatron-LM do it; False for FSDP, DDP and plain PyTorch. optimizer:
    its name in lower case, empty when not known. base_bits: of a frozen base model
    under an adapter, None where all parameters train.
    """

    compute_dtype: str
    keeps_master_weights: bool
    parameter_dtype: str = ""
    optimizer: str = ""
    optimizer_state_dtype: str = ""
    base_bits: int | None = None


class Sharding(Record):
    """Over how many ranks the states are cut.

    model_ranks: tensor x pipeline parallel ranks, and those that split experts.
    shard_ranks: ranks of the group that `stage` shards over, at most;
    fewest_shard_ranks: at least, where context-parallel ranks may not count.
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
    moments = _moment_bytes(scheme)
    is_adam = _is_adam(scheme.optimizer)
    if scheme.compute_dtype == "fp32":
        gradients = Interval(4.0 if is_adam else 0.0, 4.0)
        return BytesPerParameter(Interval(4.0, 4.0), gradients, moments)
    if scheme.keeps_master_weights:
        # ZeRO-1 with 32-bit accumulation: 8 + 16 / n; Megatron-LM: 6 + 12 / n.
        optimizer = Interval(4.0, 8.0) + moments
        if scheme.optimizer_state_dtype not in {"", "fp32"}:
            optimizer = Interval(0.0, optimizer.most)
        return BytesPerParameter(Interval(2.0, 2.0), Interval(2.0, 6.0), optimizer)
    if scheme.parameter_dtype == "fp32":
        # The 2 of the upper bound are autocast's copies in 16 bits.
        gradients = Interval(4.0 if is_adam else 0.0, 4.0)
        return BytesPerParameter(Interval(4.0, 6.0), gradients, moments)
    gradients = Interval(2.0 if is_adam else 0.0, 4.0)
    return BytesPerParameter(Interval(2.0, 6.0), gradients, moments)


def _moment_bytes(scheme: Scheme) -> Interval:
    """Bytes of the optimizer's own state; Adam keeps two moments."""
    if not _is_adam(scheme.optimizer):
        return Interval(0.0, 8.0)
    if scheme.optimizer_state_dtype not in {"", "fp32"}:
        return Interval(2.0, 8.0)
    is_wide = scheme.keeps_master_weights or "fp32" in {
        scheme.compute_dtype,
        scheme.parameter_dtype,
    }
    return Interval(8.0 if is_wide else 4.0, 8.0)


def _is_adam(optimizer: str) -> bool:
    """Whether the optimizer keeps two moments in the dtype of the weights or wider."""
    name = optimizer.lower()
    compressed = ("8bit", "4bit", "fp8", "mini", "galore", "apollo", "paged", "lomo")
    return "adam" in name and not any(part in name for part in compressed)


def _adapter_bytes(base_bits: int) -> BytesPerParameter:
    """A frozen base model and a small trained part beside it (LoRA, QLoRA)."""
    base = base_bits / _BITS_OF_BYTE
    least = min(base, 2.0) * _LEAST_QUANTIZED_SHARE
    most = base + _MOST_QUANTIZED_BYTES if base_bits <= _BITS_OF_BYTE else 4.0
    trained = _MOST_ADAPTER_SHARE
    return BytesPerParameter(
        Interval(least, most + 4.0 * trained),
        Interval(0.0, 4.0 * trained),
        Interval(0.0, 8.0 * trained),
    )


def state_bytes(parameters: Interval, scheme: Scheme, sharding: Sharding) -> Interval:
    """Bytes of model states on one GPU.

    Args:
        parameters: of the whole model; the upper bound may count the fullest rank
            times the number of model-parallel ranks.
        scheme: bytes of each parameter.
        sharding: cuts and offloads.

    """
    kept = bytes_per_parameter(scheme)
    weights = _cut(kept.weights, sharding, WEIGHT_STAGE)
    gradients = _cut(kept.gradients, sharding, GRADIENT_STAGE)
    optimizer = _cut(kept.optimizer, sharding, OPTIMIZER_STAGE)
    if sharding.offloads_optimizer:
        # ZeRO-Offload moves gradients to the host as well, Megatron-LM does not.
        gradients = Interval(0.0, gradients.most)
        optimizer = Interval(0.0, 0.0)
    if sharding.offloads_weights:
        weights = Interval(0.0, weights.most)
    total = weights + gradients + optimizer
    return Interval(
        total.least * parameters.least / sharding.model_ranks,
        total.most * parameters.most / sharding.model_ranks,
    )


def _cut(kept: Interval, sharding: Sharding, from_stage: int) -> Interval:
    if sharding.stage < from_stage:
        return kept
    return Interval(
        kept.least / sharding.shard_ranks, kept.most / sharding.fewest_shard_ranks
    )


def billions(count: float) -> str:
    """A number of parameters as people read it."""
    return f"{count / 1e9:,.1f} billion"


def gigabytes(amount: float) -> str:
    """Bytes as people read them, in GB of 1e9 bytes."""
    size = amount / 1e9
    return f"{size:,.0f} GB" if size >= 10 else f"{size:,.1f} GB"  # noqa: PLR2004
