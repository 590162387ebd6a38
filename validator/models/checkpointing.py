"""Bytes of a checkpoint and the time to write them.

What is saved of a parameter trained with Adam: the weights of the computation, the
32-bit master weights and two 32-bit moments, 2 + 4 + 8 (NVIDIA/Megatron-LM,
deepspeedai/DeepSpeed); 4 + 8 where the weights themselves are 32-bit
(pytorch/torchtitan); the weights alone where the optimizer is omitted. BLOOM-176B and
three Llama sizes lie within 3 percent of it.
"""

import math
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate

_HALVINGS = 60  # of the interval between 0 and m: far below a nanosecond
_LARGEST_EXPONENT = 700.0  # exp() of more overflows a float


def young_interval_seconds(save_seconds: float, mtbf_seconds: float) -> float:
    """Return Young's first-order optimum.

    It costs 0.3 points while a save takes 0.1 MTBF.
    """
    return math.sqrt(2 * save_seconds * mtbf_seconds)


def daly_interval_seconds(save_seconds: float, mtbf_seconds: float) -> float:
    """Return Daly's higher-order optimum.

    It is within 0.1 percent while a save takes 0.1 MTBF.
    """
    if save_seconds >= 2 * mtbf_seconds:
        return mtbf_seconds
    ratio = save_seconds / (2 * mtbf_seconds)
    series = 1 + math.sqrt(ratio) / 3 + ratio / 9
    return young_interval_seconds(save_seconds, mtbf_seconds) * series - save_seconds


def optimal_interval_seconds(save_seconds: float, mtbf_seconds: float) -> float:
    """Return the interval with the largest useful share, by the equation above.

    The root exists and is unique between 0 and the MTBF, since the left side falls
    there from exp(d / m) to 0.
    """
    shortest, longest = 0.0, mtbf_seconds
    for _ in range(_HALVINGS):
        middle = (shortest + longest) / 2
        left = 1 - middle / mtbf_seconds
        if left > 0 and math.log(left) + (middle + save_seconds) / mtbf_seconds > 0:
            shortest = middle
        else:
            longest = middle
    return shortest


def useful_share(
    interval_seconds: float,
    save_seconds: float,
    mtbf_seconds: float,
    restart_seconds: float = 0.0,
) -> float:
    """Return the share of the run that neither saves, restarts nor repeats.

    0 where an interval takes so many MTBF that it all but never ends without a failure.
    """
    exponent = (interval_seconds + save_seconds) / mtbf_seconds
    if exponent + restart_seconds / mtbf_seconds > _LARGEST_EXPONENT:
        return 0.0
    repeats = mtbf_seconds * math.exp(restart_seconds / mtbf_seconds)
    return interval_seconds / (repeats * math.expm1(exponent))


Contents = Literal["mixed_precision_adam", "fp32_parameters_adam", "weights", "unknown"]

# Layouts add names, random states and the position in the data.
_SHARE_OF_OVERHEAD = 0.03
_SOURCE = "bytes a parameter of Megatron-LM, DeepSpeed and torchtitan checkpoints"
_STAGING_SOURCE = "copy of one rank's share to the host over PCIe"
_GIGA = 1e9


class _Bytes(Record):
    """Bytes of one parameter: as a rule, at least and at most."""

    usual: float
    least: float
    most: float


_BYTES: dict[Contents, _Bytes] = {
    "mixed_precision_adam": _Bytes(14, 14, 14),
    "fp32_parameters_adam": _Bytes(12, 12, 12),
    "weights": _Bytes(2, 1, 4),
    # Optimizers with fewer or smaller moments; copies that some frameworks add.
    "unknown": _Bytes(14, 2, 18),
}
# GB/s of one GPU to pageable and to pinned host memory, PCIe gen 3 to gen 6.
_STAGING = _Bytes(usual=10, least=1, most=100)


def checkpoint_bytes(parameters: Estimate, contents: Contents) -> Estimate:
    """Return the bytes of one checkpoint of a model with so many parameters."""
    each = _BYTES[contents]
    is_known = each.least == each.most
    band = _SHARE_OF_OVERHEAD if is_known else 0.0
    sure = is_known and parameters.kind in {"exact", "calibrated"}
    return Estimate(
        parameters.value * each.usual,
        parameters.lower * each.least * (1 - band),
        parameters.upper * each.most * (1 + band),
        "calibrated" if sure else "lower_bound",
        _SOURCE,
    )


def write_seconds(
    size: Estimate,
    storage_bytes_per_second: float,
    writers: int | None = None,
    writer_bytes_per_second: float = float("inf"),
) -> Estimate:
    """Return the bytes over the lesser of what all writers send and the storage takes.

    writers: None where nobody knows how many there are, so that storage alone bounds
    the time, from below.
    """
    if writers is None:
        fastest = storage_bytes_per_second
        return size.times(1 / fastest)._replace(upper=float("inf"), kind="lower_bound")
    sent = writers * writer_bytes_per_second
    return size.times(1 / min(sent, storage_bytes_per_second))


def gathered_seconds(size: Estimate, writer_gigabytes_per_second: float) -> Estimate:
    """Return the time that one rank needs to write all of a checkpoint."""
    return size.times(1 / (writer_gigabytes_per_second * _GIGA))


def staging_seconds(size: Estimate, ranks: int) -> Estimate:
    """Return how long training stands still while an asynchronous save is copied.

    For reading alone: it depends on pinned memory, on the links and on what else a
    framework does before it lets training go on.
    """
    share = size.times(1 / ranks / _GIGA)
    return Estimate(
        share.value / _STAGING.usual,
        share.lower / _STAGING.most,
        share.upper / _STAGING.least,
        "advisory",
        _STAGING_SOURCE,
    )
