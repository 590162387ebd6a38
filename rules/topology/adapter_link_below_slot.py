"""A network adapter whose PCIe link runs below what it and its slot can do.

Why it hurts: a link trained down to half its lanes cannot carry the rate of the port,
and every collective waits for that rail.

What passes: speed and width of now as high as both ends of the link allow. A card for
generation 5 in a slot of generation 4 is well.

Where it does not apply: virtual machines, which see the links that the hypervisor
shows, and virtual functions, which have none.

Source: facebookresearch/gcm; imbue-ai/cluster-health.

Bad::

    lspci -vv -s 80:00.0   # LnkCap: 32GT/s, Width x16; LnkSta: Width x8

Good::

    lspci -vv -s 80:00.0   # LnkCap: 32GT/s, Width x16; LnkSta: 32GT/s, Width x16
"""

from speccheck.rules.topology._links import by_address, judged, port_above
from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, rule

_COST = "the rail of that adapter is slower than the others, and all wait for it"


@rule(clause="TOPO-004")
def adapter_link_below_slot(
    adapters: RdmaDevices, devices: PciDevices, host: Host
) -> Verdicts:
    """Judge the link of each adapter that is no virtual function."""
    if host.virtualisation.need() != "none":
        return
    known = by_address(devices)
    seen = set[str]()
    for adapter in adapters.each():
        address = adapter.pci_address.need()
        device = known.get(address)
        if device is None:
            raise MissingEvidence(devices.count.name, f"{address} is not in the list")
        if address in seen or device.is_virtual_function.need():
            continue
        seen.add(address)
        what = f"the link of {adapter.title} at"
        verdict = judged(device, port_above(device, known), what, _COST)
        yield verdict._replace(action="ISOLATE" if verdict.outcome == "fail" else None)
