"""An adapter whose small RDMA writes take long.

Why it hurts: barriers, small collectives and the ends of large ones cost the latency at
each hop. Congestion, a detour of the fabric and processors that sleep deeply show here
first.

What passes: a typical latency of small writes within the limit.

Where it does not apply: tests of bandwidth, other operations, larger messages, and
links that are neither InfiniBand nor Ethernet: EFA takes longer by design.

Source: oracle-quickstart/oci-hpc, multi_node_active_healthcheck.py.

Bad::

    ib_write_lat -d mlx5_4   # t_typical 11.2 us

Good::

    ib_write_lat -d mlx5_4   # t_typical 2.8 us
"""

from speccheck.rules.fabric._transfers import IS_RDMA, MICROSECONDS, WRITE
from speccheck.validator.evidence.measurement.device import RdmaTransfer
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Most(Numbers):
    """The highest latency of a small write, in microseconds.

    message_max: the largest message that counts as small, in bytes.
    """

    latency_max: float
    message_max: int


@rule(clause="FAB-061", confidence="calibrated")
def write_latency_high(transfer: RdmaTransfer, limit: Most) -> Verdicts:
    """Judge the smallest message of one adapter."""
    times = transfer.typical_seconds
    if transfer.operation.need() != WRITE or not times.is_known:
        return
    if transfer.link_layer.need() not in IS_RDMA:
        return
    points = [
        (size, seconds * MICROSECONDS)
        for size, seconds in zip(transfer.size_bytes.need(), times.need(), strict=False)
        if size is not None and seconds and size <= limit.message_max
    ]
    if not points:
        return
    size, value = min(points)
    if value <= limit.latency_max:
        yield passed(at=times, measured=value, required=limit.latency_max)
        return
    yield fail(
        f"{transfer.device.or_else('an adapter')} writes {size} bytes in {value:.1f} "
        f"us; at most {limit.latency_max:g} us are usual",
        at=times,
        measured=value,
        required=limit.latency_max,
        action="MONITOR",
    )
