"""What rules on measured transfers between adapters share."""

from fnmatch import fnmatchcase

from speccheck.validator.evidence.measurement.device import RdmaTransfer
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.bus_bandwidth import GIGA

BITS = 8
MICROSECONDS = 1e6
WRITE = "write"
INSTANCE = "cluster.instance_type"
_INFINIBAND = "InfiniBand"
_LAYERS = {"infiniband": _INFINIBAND, "roce": "Ethernet", "efa": "Unspecified"}
_SHORT = {"IB": _INFINIBAND}
IS_RDMA = {"IB", _INFINIBAND, "Ethernet"}  # EFA is neither


class Line(Record):
    """The rate of a line.

    is_certain: it is known to be that of this adapter, and not only that of the
        adapters of such a machine.
    """

    gbit_per_second: float
    is_certain: bool


class Point(Record):
    """The size of a message, and its average rate."""

    size_bytes: int
    gbit_per_second: float


def line_of(
    transfer: RdmaTransfer, ports: RdmaPorts, instance: InstanceProfile
) -> Line:
    """Return the rate of the line: by a snapshot, or by the type of the machine.

    Raises MissingEvidence where none of them knows it.
    """
    device = transfer.device.value
    of_port = {
        rdma_port.rate_gbit_per_second.value
        for rdma_port in ports.shown
        if device is not None and rdma_port.device.value == device
    }
    rate = of_port.pop() if len(of_port) == 1 else None
    if rate:
        return Line(rate, is_certain=True)
    usual = instance.network_gbit_per_second
    if not usual.is_known:
        raise MissingEvidence(INSTANCE, f"no port of {device}; {usual.note}")
    is_named = any(
        device is not None and fnmatchcase(device, name)
        for name in instance.network_names.or_else(())
        if name is not None
    )
    stated_layer = transfer.link_layer.need()
    layer = _SHORT.get(stated_layer, stated_layer)
    is_same = layer == _LAYERS.get(instance.network_kind.need())
    # Machines have Ethernet adapters for other things, and no such InfiniBand.
    if not is_same or not (is_named or layer == _INFINIBAND):
        raise not_of_training(device)
    return Line(usual.need(), is_certain=is_named)


def not_of_training(device: str | None) -> MissingEvidence:
    """Return that the type of the machine has a rate, but not of which adapters."""
    name = device or "the adapter"
    reason = f"whether {name} is one of the training adapters is not known"
    return MissingEvidence("rdma_ports", f"{reason}: give a snapshot beside it")


def points_of(transfer: RdmaTransfer) -> list[Point]:
    """Return what each size reached on average; raises MissingEvidence without any."""
    rates = transfer.average_bytes_per_second
    pairs = zip(transfer.size_bytes.need(), rates.need(), strict=False)
    points = [
        Point(size, rate * BITS / GIGA)
        for size, rate in pairs
        if size is not None and rate
    ]
    if not points:
        raise MissingEvidence(rates.name, "no message was measured to its end")
    return points


def is_of_latency(transfer: RdmaTransfer) -> bool:
    """Return whether the test measured latencies, and no bandwidth."""
    is_timed = transfer.typical_seconds.is_known
    return is_timed and not transfer.average_bytes_per_second.is_known
