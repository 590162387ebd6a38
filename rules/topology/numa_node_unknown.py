"""A GPU or an adapter of which the firmware does not say to which socket it belongs.

Why it hurts: launchers and NCCL place ranks, memory and proxy threads by the NUMA node
of the device. Without it they take any, half of the time the far one.

What passes: a NUMA node for each GPU and RDMA device.

Where it does not apply: hosts with one NUMA node, virtual machines, which often have no
topology: there NCCL_TOPO_FILE says it.

Source: Azure/azurehpc-health-checks; Documentation/ABI/testing/sysfs-bus-pci.

Bad::

    cat /sys/bus/pci/devices/0000:1b:00.0/numa_node   # -1

Good::

    cat /sys/bus/pci/devices/0000:1b:00.0/numa_node   # 0
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class First(Numbers):
    """The lowest valid NUMA node number; lower ones mean unknown."""

    first_node: int


@rule(clause="TOPO-055")
def numa_node_unknown(
    gpus: Gpus, adapters: RdmaDevices, devices: PciDevices, host: Host, limit: First
) -> Verdicts:
    """Judge what the kernel tells of each GPU and RDMA device."""
    if host.virtualisation.need() != "none" or host.numa_nodes.need() <= 1:
        return
    places = {part.pci_address.need() for part in (*gpus.each(), *adapters.each())}
    mine = [
        pci_device
        for pci_device in devices.each()
        if pci_device.address.need() in places
    ]
    if not mine:
        return
    first = limit.first_node
    lost = [
        pci_device for pci_device in mine if pci_device.numa_node.or_else(first) < first
    ]
    if lost:
        yield fail(
            f"{len(lost)} of {len(mine)} GPUs and adapters have no NUMA node: "
            f"{', '.join(pci_device.title for pci_device in lost)}; each should "
            "have one",
            at=[pci_device.numa_node for pci_device in lost],
            measured=len(lost),
            required=0,
            cost="ranks and their memory are placed on any socket",
            remedy="Update the firmware or switch NUMA reporting on in it (ACPI _PXM); "
            "until then name the places in a file for NCCL_TOPO_FILE and bind ranks "
            "with numactl.",
            action="FIX_CONFIG",
        )
        return
    nodes = [pci_device.numa_node for pci_device in mine]
    for node in nodes:
        node.need()
    yield passed(at=nodes)
