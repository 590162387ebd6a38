"""An NVMe drive whose PCIe link runs below what it and its slot can do.

Why it hurts: data sets and checkpoints on that drive are read and written at a fraction
of its rate, and an array runs at the pace of its slowest drive.

What passes: speed and width of now as high as both ends of the link allow.

Where it does not apply: machines without NVMe drives, and virtual machines, which see
the links that the hypervisor shows.

Source: facebookresearch/gcm.

Bad::

    lspci -vv -s 41:00.0   # LnkCap: 16GT/s, Width x4; LnkSta: Width x1

Good::

    lspci -vv -s 41:00.0   # LnkCap: 16GT/s, Width x4; LnkSta: 16GT/s, Width x4
"""

from speccheck.rules.topology._links import by_address, judged, port_above
from speccheck.validator.evidence.node.host import (
    NVME_CLASS,
    Host,
    PciDevice,
    PciDevices,
)
from speccheck.validator.rule import Verdicts, rule

_COST = "data and checkpoints on that drive take longer"


@rule(clause="TOPO-052")
def drive_link_below_slot(
    device: PciDevice, devices: PciDevices, host: Host
) -> Verdicts:
    """Judge the link of a drive."""
    if device.pci_class.need() != NVME_CLASS:
        return
    if host.virtualisation.need() != "none" or device.is_virtual_function.need():
        return
    port = port_above(device, by_address(devices))
    verdict = judged(device, port, "the link of the drive at", _COST)
    yield verdict._replace(action="MONITOR" if verdict.outcome == "fail" else None)
