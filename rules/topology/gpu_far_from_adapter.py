"""A GPU that reaches every RDMA device across the processor, or across sockets.

Why it hurts: GPUDirect over the path between sockets gets half the rate or less, and
the traffic of several GPUs meets on it.

What passes: a GPU that shares a PCIe switch with an RDMA device.

Where it does not apply: machines without RDMA devices, virtual machines, processors of
ARM, and machines none of whose GPUs shares a switch with a device, as long as each has
an RDMA device on its own NUMA node: they were built so.

Source: NVIDIA/nccl docs, path types; NVIDIA/nccl-tests issue 232.

Bad::

    nvidia-smi topo -m   # GPU 3: SYS to each NIC

Good::

    nvidia-smi topo -m   # GPU 3: PXB to NIC3
"""

from speccheck.rules.topology._links import above, by_address
from speccheck.rules.topology._placement import is_bare_server
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host, PciDevice, PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_SOCKETS, _HOST = "across sockets (SYS)", "across the host (PHB or NODE)"


class Path(Numbers):
    """The longest path, in the words of nvidia-smi topo -m."""

    max_path: str


@rule(clause="TOPO-005")
def gpu_far_from_adapter(
    gpus: Gpus,
    adapters: RdmaDevices,
    devices: PciDevices,
    host: Host,
    limit: Path,
) -> Verdicts:
    """Judge the nearest RDMA device of each GPU."""
    listed = adapters.each()
    if not listed or not gpus.each() or not is_bare_server(host):
        return
    known = by_address(devices)
    mine = {gpu.title: _device(known, gpu.pci_address.need()) for gpu in gpus.each()}
    others = [_device(known, rdma_device.pci_address.need()) for rdma_device in listed]
    near = {title for title, pci_device in mine.items() if _shares(pci_device, others)}
    far = {title: pci_device for title, pci_device in mine.items() if title not in near}
    if not far:
        at = [pci_device.ancestors for pci_device in (*mine.values(), *others)]
        yield passed(at=at, measured=limit.max_path, required=limit.max_path)
    nodes = {other.numa_node.need() for other in others}
    by_path: dict[str, list[str]] = {}
    for title, pci_device in far.items():
        is_across = pci_device.numa_node.need() not in nodes and min(nodes) >= 0
        if pci_device.numa_node.need() >= 0 and (near or is_across):
            by_path.setdefault(_SOCKETS if is_across else _HOST, []).append(title)
    for path, titles in by_path.items():
        yield fail(
            f"{', '.join(titles)} {'reaches' if len(titles) == 1 else 'reach'} the "
            f"RDMA devices ({len(others)}) only {path}; "
            + (f"{len(near)} of their peers share" if near else "each should share")
            + f" a PCIe switch with one ({limit.max_path} or better)",
            at=[far[title].ancestors for title in titles],
            required=limit.max_path,
            cost="GPUDirect of these GPUs is slow, and each collective waits for it",
            remedy="See nvidia-smi topo -m; where an adapter is missing or sits in the "
            "wrong slot, mend that; else bind the rank to the nearest adapter.",
            action="FIX_CONFIG",
        )


def _device(known: dict[str, PciDevice], address: str) -> PciDevice:
    if address not in known:
        name = "pci_devices"
        raise MissingEvidence(name, f"{address} is not in the list")
    return known[address]


def _shares(device: PciDevice, others: list[PciDevice]) -> bool:
    """Return whether another device sits below one of the switches above it."""
    mine = {*above(device)}
    return any(mine & {*above(other)} for other in others)
