"""A PCIe switch whose link to the host has lost lanes.

Why it hurts: everything below that switch shares the link. The GPU and the adapter
look well by themselves, and still their copies run at half the rate.

What passes: the link from each switch upwards has all the lanes that both of its ends
can do. Bridges lower their speed when they idle, so the speed of now
is not judged; lanes stay.

Where it does not apply: virtual machines, and devices that hang on a root port.

Source: imbue-ai/cluster-health.

Bad::

    lspci -vv -s 17:00.0   # Upstream Port, LnkCap: x16, LnkSta: x4

Good::

    lspci -vv -s 17:00.0   # Upstream Port, LnkCap: x16, LnkSta: x16
"""

from speccheck.rules.topology._links import above, by_address, is_bridge, port_above
from speccheck.validator.evidence.node.host import Host, PciDevice, PciDevices
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_HALVES = 2  # a switch has a port above and one below: links join every second pair


@rule(clause="TOPO-051")
def bridge_link_narrowed(
    device: PciDevice, devices: PciDevices, host: Host
) -> Verdicts:
    """Judge a port of a switch that leads up, and has something that matters below."""
    if not is_bridge(device) or host.virtualisation.need() != "none":
        return
    if len(above(device)) % _HALVES == 0:
        return  # its link leads down
    port = port_above(device, by_address(devices))
    if port is None:
        reason = "the port above the switch is not in the snapshot"
        raise MissingEvidence(devices.count.name, reason)
    width, most, of_port = device.width, device.width_maximum, port.width_maximum
    wanted = min(most.need(), of_port.need())
    at = [width, most, of_port]
    if width.need() >= wanted:
        yield passed(at=at, measured=width.value, required=wanted)
        return
    yield fail(
        f"the switch at {device.title} has {width.value} lanes to {port.title}; both "
        f"ends can do {wanted}",
        at=at,
        measured=width.value,
        required=wanted,
        cost="all GPUs, adapters and drives below share what is left",
        remedy=f"See lspci -vv -s {device.title} (LnkSta) and dmesg; power cycle the "
        "node, then have the switch board or its cable replaced.",
        action="ISOLATE",
    )
