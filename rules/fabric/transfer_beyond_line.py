"""A transfer that was measured faster than its line can be.

Why it hurts: MB/s were taken for Gb/s, both directions were added up, or the adapter
talked to itself. Whatever the number is compared with, the verdict is worth nothing.

What passes: average rates within the rate of the line, one way.

Where it does not apply: both ways at once, tests of latency, and adapters that may be
others than those of training.

Source: an engineering default; rates of InfiniBand and Ethernet are those of the data.

Bad::

    ib_write_bw -d mlx5_4 --report_gbits   # 784 Gb/s on a line of 400

Good::

    ib_write_bw -d mlx5_4 --report_gbits   # 393 Gb/s on a line of 400
"""

from speccheck.rules.fabric._transfers import is_of_latency, line_of, points_of
from speccheck.validator.evidence.measurement.device import RdmaTransfer
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Most(Numbers):
    """The largest share of the line rate that a measured transfer can reach."""

    most_share: float


@rule(clause="FAB-060")
def transfer_beyond_line(
    transfer: RdmaTransfer,
    ports: RdmaPorts,
    instance: InstanceProfile,
    limit: Most,
) -> Verdicts:
    """Hold the fastest message of one adapter to its line."""
    if is_of_latency(transfer) or transfer.is_bidirectional.need():
        return
    line = line_of(transfer, ports, instance)
    if not line.is_certain:
        return
    rates = transfer.average_bytes_per_second
    value = max(point.gbit_per_second for point in points_of(transfer))
    most = limit.most_share * line.gbit_per_second
    if value <= most:
        yield passed(at=rates, measured=value, required=line.gbit_per_second)
        return
    yield fail(
        f"{transfer.device.or_else('an adapter')} was measured at {value:,.1f} Gb/s; "
        f"its line carries {line.gbit_per_second:,.0f} Gb/s",
        at=rates,
        measured=value,
        required=line.gbit_per_second,
        cost="no verdict on this transfer is worth anything",
    )
