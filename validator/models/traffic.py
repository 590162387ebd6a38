"""Bytes that one GPU sends in an optimizer step, by kind of parallelism.

Counts of ring-like exchanges, which send the least: of n ranks each sends (n - 1) / n
of a buffer for a reduce-scatter, an all-gather or an all-to-all, twice that for an
all-reduce. Sources: Rajbhandari et al. 2020 (arXiv:1910.02054) section 7, Narayanan et
al. 2021 (arXiv:2104.04473) section 3, Korthikanti et al. 2022 (arXiv:2205.05198)
section 4.2, Liu et al. 2023 (arXiv:2310.01889) for context parallelism.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record

Scheme = Literal["ddp", "distributed-optimizer", "fsdp"]
MEBIBYTE = 2**20
HALF_BYTES = 2  # activations and gathered weights travel in 16 bits
_ALL_REDUCE = 2
# A layer has two blocks; each gathers and scatters its input forward and backward.
_TENSOR_EXCHANGES = 8
_RECOMPUTED_EXCHANGES = 4
# Tokens go to their experts and come back, forward and backward.
_EXPERT_EXCHANGES = 4
# Keys and values go around forward; they and their gradients backward.
_CONTEXT_TENSORS, _CONTEXT_ROUNDS = 2, 3


def data_parallel_bytes(
    scheme: Scheme,
    parameters: float,
    ranks: int,
    *,
    gradient_bytes: float,
    micro_batches: int = 1,
) -> float:
    """Return the bytes of gradients, and of weights where they are sharded.

    Args:
        scheme: ddp reduces whole gradients once; distributed-optimizer (ZeRO 1 and 2)
            scatters them and gathers 16-bit weights once; fsdp (ZeRO-3) gathers weights
            twice and scatters gradients for each micro-batch.
        parameters: of this rank's part of the model, before data-parallel sharding.
        ranks: of the data-parallel group, or of the group that shards.
        gradient_bytes: of one gradient on the wire.
        micro_batches: of a step.

    """
    share = parameters * (ranks - 1) / ranks
    if scheme == "ddp":
        return _ALL_REDUCE * gradient_bytes * share
    if scheme == "distributed-optimizer":
        return (gradient_bytes + HALF_BYTES) * share
    return (2 * HALF_BYTES + gradient_bytes) * share * micro_batches


class Activations(Record):
    """What one micro-batch carries between GPUs.

    tokens: of the micro-batch on one context-parallel rank.
    """

    tokens: float
    hidden_size: int
    element_bytes: float = HALF_BYTES

    @property
    def bytes(self) -> float:
        """Bytes of one layer's input."""
        return self.tokens * self.hidden_size * self.element_bytes


def tensor_parallel_bytes(
    activations: Activations, ranks: int, *, recomputes: bool = False
) -> float:
    """Return bytes of one layer and micro-batch.

    Sequence parallel does not change them.
    """
    exchanges = _TENSOR_EXCHANGES + (_RECOMPUTED_EXCHANGES if recomputes else 0)
    return exchanges * activations.bytes * (ranks - 1) / ranks


def pipeline_bytes(
    activations: Activations, *, chunks: int, tensor_ranks: int
) -> float:
    """Return a stage's bytes of one micro-batch: outputs go on, gradients come back.

    Ranks of a tensor-parallel group each send their part (Megatron-LM, sequence
    parallel or scattered).
    """
    return 2 * chunks * activations.bytes / tensor_ranks


def expert_parallel_bytes(
    activations: Activations, ranks: int, *, experts_per_token: int, tensor_ranks: int
) -> float:
    """Return the bytes of one layer's all-to-all for an evenly spread micro-batch."""
    share = activations.bytes / tensor_ranks * experts_per_token
    return _EXPERT_EXCHANGES * share * (ranks - 1) / ranks


def context_parallel_bytes(
    tokens: float, key_value_width: float, ranks: int, element_bytes: float = HALF_BYTES
) -> float:
    """Return the bytes of ring attention of one layer and one micro-batch.

    tokens: of one rank; key_value_width: key-value heads x head dimension on it.
    """
    block = _CONTEXT_TENSORS * tokens * key_value_width * element_bytes
    return _CONTEXT_ROUNDS * block * (ranks - 1)
