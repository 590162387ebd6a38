"""What of communication shows: overlap with compute, and efficiency at more nodes.

A step lasts as long as its compute and what of the exchange does not fit under it. The
bounds are those of the schedule: all hidden as far as it fits, or nothing hidden.
"""

from typing import Literal

from speccheck.validator.models.estimate import Estimate, within

_SOURCE = "overlap of exchange and compute"
# Backward is two thirds of forward and backward; gradients are reduced under it.
BACKWARD_SHARE = 2 / 3
_ZERO3 = "max(compute, traffic); bandwidth fitted on Narayanan et al. 2021 table 2"
_ZERO3_BAND = 0.20
# Weights are gathered twice and gradients scattered once, 2 bytes each.
_ZERO3_BYTES = 6
_RECOMPUTED_FLOPS = 8

Overlap = Literal["on", "off", "unknown"]


def overlap_ratio(communication: float, compute: float) -> float:
    """Communication over the compute that may hide it; above 1 some must show."""
    return communication / compute


def exposed(communication: Estimate, hideable: Estimate, overlap: Overlap) -> Estimate:
    """Seconds of communication that no compute hides, advisory.

    Args:
        communication: time of the exchange on its own.
        hideable: compute that runs at the same time where the exchange overlaps.
        overlap: whether it does; off shows all of it.

    """
    best = max(0.0, communication.lower - hideable.upper)
    worst = max(0.0, communication.upper - hideable.lower)
    value = max(0.0, communication.value - hideable.value)
    if overlap == "off":
        best, value = communication.lower, communication.value
    if overlap != "on":
        worst = communication.upper
    return Estimate(
        value, best, worst, "advisory", f"{_SOURCE}; {communication.source}"
    )


def scaling_efficiency(
    compute: Estimate, exposed_before: Estimate, exposed_after: Estimate
) -> Estimate:
    """Throughput of one GPU after growing over that before, same work for each GPU."""
    value = _share(compute.value, exposed_before.value, exposed_after.value)
    # More compute hides more, so slow compute goes with little exposed time.
    low = _share(compute.lower, exposed_before.lower, exposed_after.upper)
    high = _share(compute.upper, exposed_before.upper, exposed_after.lower)
    return Estimate(
        value,
        min(low, 1.0),
        min(high, 1.0),
        "advisory",
        f"(c + e1) / (c + e2); {_SOURCE}",
    )


def _share(compute: float, before: float, after: float) -> float:
    return (compute + before) / (compute + after)


def sharded_throughput(
    tokens: float,
    ranks: int,
    *,
    compute_ceiling: float,
    bytes_per_second: float,
) -> Estimate:
    """Hardware FLOPs a second of one GPU under ZeRO-3 with full recomputation.

    Per parameter, so that the model's size cancels. `tokens` of one micro-batch.
    """
    flops = _RECOMPUTED_FLOPS * tokens
    traffic = _ZERO3_BYTES * (ranks - 1) / ranks / bytes_per_second
    seconds = max(flops / compute_ceiling, traffic)
    return within(flops / seconds, _ZERO3_BAND, _ZERO3, "DeepSpeed of 2021, A100")
