"""PCIe access control that sends traffic between GPU and adapter through the host.

Why it hurts: with redirection on, a switch sends what one device writes to its
neighbour up to the root complex and down again: GPUDirect is slow, and on some hosts
it hangs in ways that look like a fault of NCCL.

What passes: redirection of requests and completions off on each switch port above a
GPU or an RDMA device. Root ports are omitted: their traffic is in the host already.

Where it does not apply: virtual machines, which need it on; processors of ARM, where
address translation makes up for it; machines without PCIe switches. Reading it takes
privileges: without them it is unknown.

Source: NVIDIA/nccl docs, troubleshooting, and issue 489; NVIDIA/nccl-tests issue 252.

Bad::

    lspci -vvv -s 18:00.0 | grep ACSCtl   # ReqRedir+ CmpltRedir+

Good::

    lspci -vvv -s 18:00.0 | grep ACSCtl   # ReqRedir- CmpltRedir-
"""

from speccheck.rules.topology._links import above, by_address
from speccheck.rules.topology._placement import is_bare_server
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import ACCESS_REDIRECTIONS, Host, PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-007")
def peers_redirected(
    gpus: Gpus, adapters: RdmaDevices, devices: PciDevices, host: Host
) -> Verdicts:
    """Judge the switch ports above GPUs and adapters."""
    if not is_bare_server(host):
        return
    known = by_address(devices)
    parts = [*gpus.each(), *adapters.each()]
    ports = dict[str, None]()
    for part in parts:
        device = known.get(part.pci_address.need())
        if device is None:
            reason = f"{part.title} is not in the list"
            raise MissingEvidence(devices.count.name, reason)
        ports.update(dict.fromkeys(above(device)[1:]))
    bridges = [known[port] for port in ports if port in known]
    controls = [bridge.acs_control for bridge in bridges]
    pci_devices = [
        bridge
        for bridge in bridges
        if bridge.acs_control.or_else(0) & ACCESS_REDIRECTIONS
    ]
    if pci_devices:
        where = ", ".join(pci_device.title for pci_device in pci_devices)
        yield fail(
            f"access control redirects peer traffic on {len(pci_devices)} of "
            f"{len(bridges)} "
            f"switch ports above GPUs and adapters: {where}; it should on none",
            at=[pci_device.acs_control for pci_device in pci_devices],
            measured=len(pci_devices),
            required=0,
            cost="GPUDirect goes through the root complex: slow, or it hangs",
            remedy="Switch ACS off in the firmware, or on each port: setpci -s "
            f"{pci_devices[0].title} ECAP_ACS+6.w=0000 (as root, again after each "
            "boot).",
            action="FIX_CONFIG",
        )
        return
    if len(bridges) < len(ports):
        raise MissingEvidence(devices.count.name, "a bridge is not in the list")
    seen = [control for control in controls if control.status != "not_supported"]
    for value in seen:
        value.need()
    if seen:
        yield passed(at=seen, measured=0, required=0)
