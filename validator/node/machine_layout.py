"""How the parts of a machine are joined, as far as its snapshot tells.

GPUs, adapters, switches and processors, in the order of rails: the picture of a machine
is drawn from it. What the snapshot does not tell stays unknown here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import (
    NVIDIA_VENDOR,
    NVSWITCH_CLASS,
    Host,
    PciDevice,
    PciDevices,
)
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.evidence.node.rdma import RdmaDevices, RdmaPort, RdmaPorts
from speccheck.validator.evidence.record import Record

T = TypeVar("T")
State = Literal["told", "unlike", "bad", "unknown"]
_GPU_CLASS = "0x0302"
_OF_SWITCH = 2  # of what an NVLink leads to
_RANKS: dict[State, int] = {"told": 0, "unknown": 1, "unlike": 2, "bad": 3}
_MOST_GPUS, _MOST_PORTS = 32, 128
_FEWEST_PEERS = 2


class Mark(Record):
    """What is odd about a part: how bad that is, and why; short: in a word or two."""

    state: State
    text: str
    short: str = ""


class Links(Record):
    """NVLinks of a GPU. up: None where that is not known; to_switch: led to one."""

    up: int | None = None
    of: int | None = None
    to_switch: int = 0
    peers: tuple[tuple[int, int], ...] = ()  # number of a GPU, links to it


class LaidGpu(Record):
    """One GPU. number: None for one on the bus that the driver does not list.

    root, switch: addresses of what it hangs below, empty where that is not known or
    not there. processor_links: NVLinks to the processor that are up, and all of them.
    """

    number: int | None
    title: str
    address: str
    numa: int | None
    root: str
    switch: str
    pcie: str
    links: Links
    processor_links: tuple[int | None, int] | None
    marks: tuple[Mark, ...]


class LaidPort(Record):
    """One port of an adapter; numa, root, switch as of a GPU."""

    title: str
    speed: str
    numa: int | None
    root: str
    switch: str
    marks: tuple[Mark, ...]


class MachineLayout(Record):
    """The parts of a machine.

    gpus_known, ports_known: whether the lists are whole. switches: NVSwitches on the
    bus. nvlink: yes, no (the GPUs have none) or unknown. sockets: None if unknown.
    left_out: parts that are too many to be drawn.
    """

    product: str
    processor: str
    sockets: int | None
    gpus: tuple[LaidGpu, ...]
    ports: tuple[LaidPort, ...]
    switches: tuple[str, ...]
    gpus_known: bool
    ports_known: bool
    nvlink: Literal["yes", "no", "unknown"]
    left_out: int = 0


def worst(marks: Iterable[Mark]) -> State:
    """Return the worst of some marks; `told` where there are none."""
    result: State = "told"
    for mark in marks:
        if _RANKS[mark.state] > _RANKS[result]:
            result = mark.state
    return result


def layout_of_node(node: Node) -> MachineLayout | None:
    """Return the layout of a snapshot; None where it tells of no GPU and no adapter."""
    return machine_layout(Evidence(dict(node.by_type())))


def machine_layout(evidence: Evidence) -> MachineLayout | None:
    """Return the layout of the machine in the evidence; None where there is none."""
    gpus, ports = evidence.get(Gpus), evidence.get(RdmaPorts)
    devices, host = evidence.get(RdmaDevices), evidence.get(Host)
    if gpus is None or ports is None:
        return None
    if not (gpus.shown or ports.shown):
        return None
    bus = _bus(evidence.get(PciDevices))
    addresses: dict[str, str] = {}
    if devices is not None:
        for rdma_device in devices.shown:
            name = rdma_device.name.value or ""
            addresses[name] = (rdma_device.pci_address.value or "").lower()
    laid = [*_gpus(gpus.shown[:_MOST_GPUS], bus), *_unlisted(gpus, bus)]
    product = processor = ""
    sockets = None
    if host is not None:
        product, processor = host.product.value or "", host.processor_model.value or ""
        sockets = host.sockets.value
    shown = ports.shown[:_MOST_PORTS]
    return MachineLayout(
        product=product,
        processor=processor,
        sockets=sockets,
        gpus=tuple(laid),
        ports=tuple(_ports(shown, addresses, bus)),
        switches=tuple(
            a for a, pci_device in bus.items() if _is(pci_device, NVSWITCH_CLASS)
        ),
        gpus_known=gpus.count.is_known,
        ports_known=ports.count.is_known,
        nvlink=_has_nvlink(gpus.shown),
        left_out=len(gpus.shown)
        + len(ports.shown)
        - len(shown)
        - len(gpus.shown[:_MOST_GPUS]),
    )


def _bus(pci_devices: PciDevices | None) -> dict[str, PciDevice]:
    if pci_devices is None:
        return {}
    return {
        (pci_device.address.value or "").lower(): pci_device
        for pci_device in pci_devices.shown
    }


def _is(device: PciDevice, wanted: str) -> bool:
    text = device.pci_class.value or ""
    return device.vendor.value == NVIDIA_VENDOR and text.startswith(wanted)


def _has_nvlink(gpus: Sequence[Gpu]) -> Literal["yes", "no", "unknown"]:
    if any(gpu.nvlink_is_active.value for gpu in gpus):
        return "yes"
    states = {gpu.nvlink_is_active.status for gpu in gpus}
    return "no" if states and states <= {"not_supported", "measured"} else "unknown"


def _place(address: str, bus: Mapping[str, PciDevice]) -> tuple[int | None, str, str]:
    """Return NUMA node, root port and the switch above a device, as far as known."""
    device = bus.get(address)
    if device is None:
        return None, "", ""
    numa = device.numa_node.value
    above = [text for text in device.ancestors.value or () if text]
    return (
        numa if numa is not None and numa >= 0 else None,
        above[0] if above else "",
        above[1] if len(above) > 1 else "",
    )


def _gpus(shown: Sequence[Gpu], bus: Mapping[str, PciDevice]) -> list[LaidGpu]:
    numbers = {
        (gpu.pci_address.value or "").lower(): at for at, gpu in enumerate(shown)
    }
    links = [_links(gpu, numbers) for gpu in shown]
    usual_links = _usual([link.up for link in links])
    usual_pcie = _usual([_pcie(gpu) or None for gpu in shown])
    return [
        _gpu(at, gpu, bus, links[at], usual_links, usual_pcie)
        for at, gpu in enumerate(shown)
    ]


def _gpu(
    number: int,
    gpu: Gpu,
    bus: Mapping[str, PciDevice],
    links: Links,
    usual_links: int | None,
    usual_pcie: str | None,
) -> LaidGpu:
    address = (gpu.pci_address.value or "").lower()
    numa, root, switch = _place(address, bus)
    processor = gpu.c2c_is_active.value
    of_processor = None
    if processor:
        known = None not in processor
        of_processor = (processor.count(True) if known else None, len(processor))
    marks = [*_health(gpu), *_link_marks(gpu, links, usual_links)]
    pcie = _pcie(gpu)
    if not pcie:
        marks.append(Mark("unknown", "PCIe link not known"))
    else:
        marks += _pcie_marks(gpu, pcie, usual_pcie)
    if of_processor is not None and of_processor[0] != of_processor[1]:
        up = "an unknown number" if of_processor[0] is None else str(of_processor[0])
        state: State = "unknown" if of_processor[0] is None else "bad"
        text = f"{up} of {of_processor[1]} links to the processor up"
        marks.append(Mark(state, text))
    return LaidGpu(
        number, gpu.name.value or "", address, numa, root, switch, pcie, links,
        of_processor, tuple(marks),
    )  # fmt: skip


def _health(gpu: Gpu) -> Iterable[Mark]:
    if gpu.is_lost.value:
        yield Mark("bad", "lost by the driver")
    if gpu.needs_reset.value:
        yield Mark("bad", "needs a reset")
    if gpu.remap_is_pending.value or gpu.remap_has_failed.value:
        yield Mark("bad", "memory fault")


def _pcie(gpu: Gpu) -> str:
    """Return what the link can do: an idle link runs at a lower generation."""
    width, generation = gpu.pcie_width.value, gpu.pcie_generation_maximum.value
    if width is None or generation is None:
        return ""
    return f"Gen{generation} x{width}"


def _pcie_marks(gpu: Gpu, pcie: str, usual: str | None) -> Iterable[Mark]:
    width, most = gpu.pcie_width.value, gpu.pcie_width_maximum.value
    if width is not None and most is not None and width < most:
        yield Mark("bad", f"PCIe x{width} of x{most}")
    elif usual is not None and pcie != usual:
        yield Mark("unlike", f"PCIe {pcie}, peers have {usual}")


def _links(gpu: Gpu, numbers: Mapping[str, int]) -> Links:
    active = gpu.nvlink_is_active.value
    if not active:
        return Links()
    up = None if None in active else active.count(True)
    kinds = gpu.nvlink_remote_type.value or ()
    ends = gpu.nvlink_remote_pci_address.value or ()
    peers = Counter(
        numbers[(end or "").lower()]
        for end, is_up in zip(ends, active, strict=False)
        if is_up and (end or "").lower() in numbers
    )
    to_switch = sum(kind == _OF_SWITCH for kind in kinds)
    return Links(up, len(active), to_switch, tuple(sorted(peers.items())))


def _link_marks(gpu: Gpu, links: Links, usual: int | None) -> Iterable[Mark]:
    if links.of is None:
        if usual is not None and gpu.nvlink_is_active.status == "not_supported":
            yield Mark("unlike", f"no NVLink, peers have {usual}")
        elif usual is not None:
            yield Mark("unknown", "NVLinks not known")
        return
    if links.up is None:
        yield Mark("unknown", f"some of {links.of} NVLinks not known")
    elif links.up < links.of:
        yield Mark("bad", f"{links.up} of {links.of} NVLinks up")
    elif usual is not None and links.up < usual:
        yield Mark("unlike", f"{links.up} NVLinks up, peers have {usual}")


def _usual(result: Sequence[T | None]) -> T | None:
    """Return what most parts have, of those that tell it; None for too few of them."""
    outcome = Counter(item for item in result if item is not None)
    if sum(outcome.values()) < _FEWEST_PEERS:
        return None
    value, count = outcome.most_common(1)[0]
    return value if 2 * count > sum(outcome.values()) else None


def _unlisted(gpus: Gpus, bus: Mapping[str, PciDevice]) -> Iterable[LaidGpu]:
    """Yield GPUs of the bus that the driver does not list."""
    listed = {(gpu.pci_address.value or "").lower() for gpu in gpus.shown}
    if "" in listed:
        return
    for address, device in list(bus.items())[:_MOST_PORTS]:
        if _is(device, _GPU_CLASS) and address not in listed:
            marks = (Mark("bad", "on the bus, not listed by the driver"),)
            numa, root, switch = _place(address, bus)
            yield LaidGpu(
                None, "", address, numa, root, switch, "", Links(), None, marks
            )


def _ports(
    shown: Sequence[RdmaPort],
    addresses: Mapping[str, str],
    bus: Mapping[str, PciDevice],
) -> Iterable[LaidPort]:
    usual = _usual([rdma_port.rate_gbit_per_second.value for rdma_port in shown])
    for rdma_port in shown:
        name = rdma_port.device.value or ""
        numa, root, switch = _place(addresses.get(name, ""), bus)
        rate = rdma_port.rate_gbit_per_second.value
        marks = []
        if rdma_port.state.value is None:
            marks.append(Mark("unknown", "state not known", "state"))
        elif rdma_port.state.value != "ACTIVE":
            marks.append(Mark("bad", f"{rdma_port.state.value[:20]}"))
        if rate is None:
            marks.append(Mark("unknown", "rate not known", "rate"))
        elif usual is not None and rate != usual:
            text = f"{rate:g} Gbit/s, most have {usual:g}"
            marks.append(Mark("unlike", text, f"{rate:g}G"))
        speed = "" if rate is None else f"{rate:g}G"
        yield LaidPort(rdma_port.title, speed, numa, root, switch, tuple(marks))
