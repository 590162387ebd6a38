"""An adapter that writes slower than its line.

Why it hurts: one weak rail does not show in a test of one node, and sets the pace of
the whole job.

What passes: GPUDirect writes, one way, that reach the share of the line rate. The rate
of the line is that of the port in a snapshot beside it, else that of the adapters of
such a machine.

Where it does not apply: reads, sends and tests of latency. Writes from host memory and
both ways at once are unknown: the path of training was not measured. So are writes
below the share that are small, or of an adapter that may be another one than those of
training.

Source: Azure/azurehpc-health-checks: 380 and 360 of 400 Gb/s, 180 of 200 Gb/s.

Bad::

    ib_write_bw -d mlx5_4 --use_cuda=4 --report_gbits   # 197.1 Gb/s of 400

Good::

    ib_write_bw -d mlx5_4 --use_cuda=4 --report_gbits   # 393.4 Gb/s of 400
"""

from speccheck.rules.fabric._transfers import (
    WRITE,
    is_of_latency,
    line_of,
    not_of_training,
    points_of,
)
from speccheck.validator.evidence.measurement.device import RdmaTransfer
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Floor(Numbers):
    """The least share of the line rate that writes must reach.

    message_min: the smallest message that can fail, in bytes.
    """

    line_share: float
    message_min: int


@rule(clause="FAB-004")
def write_bandwidth_low(
    transfer: RdmaTransfer,
    ports: RdmaPorts,
    instance: InstanceProfile,
    limit: Floor,
) -> Verdicts:
    """Judge the writes of one adapter."""
    if transfer.operation.need() != WRITE or is_of_latency(transfer):
        return
    _need_conditions(transfer)
    rates = transfer.average_bytes_per_second
    line = line_of(transfer, ports, instance)
    points = points_of(transfer)
    best = max(points, key=lambda point: point.gbit_per_second)
    value, required = best.gbit_per_second, limit.line_share * line.gbit_per_second
    if value > line.gbit_per_second:
        raise MissingEvidence(rates.name, "faster than the line can be")
    if value >= required:
        yield passed(at=rates, measured=value, required=required)
        return
    if max(points).size_bytes < limit.message_min:
        raise MissingEvidence(transfer.size_bytes.name, "messages too small to judge")
    if not line.is_certain:
        raise not_of_training(transfer.device.value)
    yield fail(
        f"{transfer.device.or_else('an adapter')} writes {value:,.1f} Gb/s, "
        f"{value / line.gbit_per_second:.0%} of its line; required "
        f"{limit.line_share:.0%} of {line.gbit_per_second:,.0f}, {required:,.0f} Gb/s",
        at=rates,
        measured=value,
        required=required,
        cost="every collective over this rail runs at its pace",
        action="ISOLATE",
    )


def _need_conditions(transfer: RdmaTransfer) -> None:
    """Raise MissingEvidence where another path than that of training was measured."""
    memory = transfer.memory
    if memory.need() != "gpu":
        reason = "buffers of the host: measure with --use_cuda=N for the path of a job"
        raise MissingEvidence(memory.name, reason)
    both_ways = transfer.is_bidirectional
    if both_ways.need():
        reason = "both ways at once: measure without -b"
        raise MissingEvidence(both_ways.name, reason)
