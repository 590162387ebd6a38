"""An adapter that is slower than others that were measured alike.

Why it hurts: it may hold the floor and is still the rail that all others wait for.

What passes: adapters near the median of those with the same operation, memory and line.

Where it does not apply: fewer than three adapters measured alike, both ways at once,
and tests of latency.

Source: the median absolute deviation, as oracle-quickstart/oci-hpc and Megatron-LM
find outliers.

Bad::

    ib_write_bw   # mlx5_0 to mlx5_3: 393  393  392  366 Gb/s

Good::

    ib_write_bw   # mlx5_0 to mlx5_3: 393  393  392  393 Gb/s
"""

from speccheck.rules.fabric._transfers import is_of_latency, points_of
from speccheck.validator.evidence.measurement.device import (
    RdmaTransfer,
    RdmaTransfers,
)
from speccheck.validator.models.peers import peers_of
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Distance(Numbers):
    """How far below the median of its peers the rate of an adapter may lie.

    deviations: in deviations of the peers.
    below_median: as a share of the median.
    """

    deviations: float
    below_median: float


@rule(clause="FAB-062", confidence="calibrated")
def adapter_slower_than_peers(
    transfer: RdmaTransfer, transfers: RdmaTransfers, limit: Distance
) -> Verdicts:
    """Compare the largest message of one adapter with those of its peers."""
    if is_of_latency(transfer) or transfer.is_bidirectional.need():
        return
    alike, value = _same(transfer), max(points_of(transfer)).gbit_per_second
    peers = {
        rdma_transfer.device.need(): max(points_of(rdma_transfer)).gbit_per_second
        for rdma_transfer in transfers.each()
        if not is_of_latency(rdma_transfer) and _same(rdma_transfer) == alike
    }
    if not list(peers)[2:]:
        return
    rates = transfer.average_bytes_per_second
    usual = peers_of(list(peers.values()), limit.deviations, limit.below_median)
    if value >= usual.least:
        yield passed(at=rates, measured=value, required=usual.least)
        return
    yield fail(
        f"{transfer.device.need()} reaches {value:,.1f} Gb/s, "
        f"{1 - usual.share(value):.0%} below the median of its peers, "
        f"{usual.median:,.1f} Gb/s; it should be above {usual.least:,.1f} Gb/s",
        at=rates,
        measured=value,
        required=usual.least,
        action="MONITOR",
    )


def _same(transfer: RdmaTransfer) -> tuple[object, ...]:
    """Return what two transfers must share to be compared."""
    numbers = (transfer.operation, transfer.memory, transfer.is_bidirectional)
    return (*(value.need() for value in numbers), max(points_of(transfer)).size_bytes)
