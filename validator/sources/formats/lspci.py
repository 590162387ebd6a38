"""What `lspci -vvv` prints: PCIe devices, their links, and what lies above them."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    converted,
    line_span,
    pci_address,
    whole,
)
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_HEAD = lazy_pattern(
    r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?:Class )?([^:\[]*?) ?(?:\[([0-9a-f]{4})\])?: (.*)$"
)
_IDS = lazy_pattern(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_INTERFACE = lazy_pattern(r"\(prog-if ([0-9a-f]{2})\b")
_LINK = lazy_pattern(r"Speed (\d{1,4}(?:\.\d{1,4})?)GT/s[^,]*, Width x(\d{1,4})")
_READ_REQUEST = lazy_pattern(r"MaxReadReq (\d{1,9}) bytes")
_BUSES = lazy_pattern(r"Bus: primary=([0-9a-f]+), secondary=([0-9a-f]+),")
# Names of classes where lspci was not asked for numbers (pci.ids, base and sub class).
_CLASSES = {
    "VGA compatible controller": "0300",
    "3D controller": "0302",
    "Infiniband controller": "0207",
    "Ethernet controller": "0200",
    "Network controller": "0280",
    "Non-Volatile memory controller": "0108",
    "PCI bridge": "0604",
    "Host bridge": "0600",
}
# PCI Express base specification, access control services: bits of the register.
_ACCESS_CONTROL = {
    "SrcValid": 0x01,
    "TransBlk": 0x02,
    "ReqRedir": 0x04,
    "CmpltRedir": 0x08,
    "UpstreamFwd": 0x10,
    "EgressCtrl": 0x20,
    "DirectTrans": 0x40,
}
_LINE = lazy_pattern(
    r"(?m)^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] [A-Z0-9]\S* ?.*: "
)
_DETAIL = lazy_pattern(r"(?m)^\s+(?:LnkSta|LnkCap|DevCtl|Kernel driver in use|Flags):")
_BRIDGE, _HOST_BRIDGE = "0604", "0600"
# Displays and accelerators, network adapters, NVMe drives; NVSwitches are bridges.
_JUDGED = ("0300", "0302", "0200", "0207", "0280", "0108")
_SWITCH, _NVIDIA = "0680", "10de"
_MOST_ABOVE = 16


def _detect(source: Source) -> float:
    text = source.text
    return 1.0 if _LINE.search(text) and _DETAIL.search(text) else 0.0


def _read(source: Source) -> Reading:
    """Return the devices that a node is judged by, and the bridges above them."""
    capture = Capture(source.name, "lspci")
    devices = _devices_of(source.text)
    bridges = {device.secondary: device for device in devices if device.secondary}
    judged = [device for device in devices if _is_judged(device)]
    above = {
        bridge.address
        for device in judged
        for bridge in _bridges_above(device, bridges)
    }
    capture.listed("pci_devices", devices[0].span if devices else Span(1, 1, 1))
    for device in devices:
        if device in judged or device.address in above:
            _put(capture, device, bridges)
    if not any(device.device_class == _HOST_BRIDGE for device in devices):
        reason = "has no host bridge: lspci may have been asked for some devices"
        capture.partial("pci_devices", reason)
    return node_reading(capture.node(), FactSheet(source.name))


class Device:
    """One function; secondary is the bus behind a bridge."""

    def __init__(self, address: str, device_class: str, span: Span) -> None:
        """Start with what the first line says."""
        self.address = address
        self.device_class = device_class  # 0302; empty where it is not known
        self.interface = "00"
        self.vendor = ""
        self.secondary = ""
        self.span = span
        self.lines: list[DeviceLine] = []

    @property
    def bus(self) -> str:
        """Domain and bus: 0000:1b."""
        return self.address.rpartition(":")[0]

    def put(self, leaf: str, result: CapturedValue, span: Span) -> None:
        """Put down a leaf."""
        self.lines.append(DeviceLine(leaf, result, span))


def _is_judged(device: Device) -> bool:
    if device.device_class == _SWITCH:
        return device.vendor == _NVIDIA
    return device.device_class in _JUDGED


def _bridges_above(device: Device, bridges: dict[str, Device]) -> list[Device]:
    """Return the bridges above, from the root port down."""
    devices: list[Device] = []
    bridge = bridges.get(device.bus)
    while bridge is not None and bridge not in devices and len(devices) < _MOST_ABOVE:
        devices.insert(0, bridge)
        bridge = bridges.get(bridge.bus)
    return devices


def _put(capture: Capture, device: Device, bridges: dict[str, Device]) -> None:
    part = "pci_devices", capture.add("pci_devices", device.span)
    capture.put_at(part, "address", device.address, device.span)
    pci_class = f"0x{device.device_class}{device.interface}"
    capture.put_at(part, "pci_class", pci_class, device.span)
    for line in device.lines:
        capture.put_at(part, line.leaf, line.value, line.span)
    if bridges:
        above = _bridges_above(device, bridges)
        ancestors: CapturedValue = [bridge.address for bridge in above]
        capture.put_at(part, "ancestors", ancestors, device.span)


class DeviceLine(Record):
    """A leaf of a device as one line gives it."""

    leaf: str
    value: CapturedValue
    span: Span


def _devices_of(text: str) -> list[Device]:
    """Return the devices of what lspci printed, in its order."""
    devices: list[Device] = []
    for line_number, line in enumerate(text.splitlines(), 1):
        span = line_span(line_number, line)
        head = _HEAD.match(line)
        if head is not None:
            address = pci_address(head[1])
            device_class = head[3] or _CLASSES.get(head[2].strip(), "")
            device = Device(address, device_class, span)
            devices.append(device)
            if interface := _INTERFACE.search(line):
                device.interface = interface[1]
            ids = _IDS.findall(head[4])
            if ids:
                device.vendor = ids[-1][0]
                device.put("vendor", f"0x{ids[-1][0]}", span)
                device.put("device", f"0x{ids[-1][1]}", span)
        elif devices and line[:1].isspace():
            _detail(devices[-1], line.strip(), span)
    return devices


def _detail(device: Device, text: str, span: Span) -> None:
    key, _, value = text.partition(":")
    value = value.strip()
    if key in _LINKS and (link := _LINK.search(value)):
        speed, width = _LINKS[key]
        device.put(speed, float(link[1]), span)
        device.put(width, int(link[2]), span)
    elif key in _TEXTS:
        device.put(_TEXTS[key], value, span)
    elif key == "NUMA node":
        device.put("numa_node", converted(value, whole), span)
    elif key == "ACSCtl":
        device.put("acs_control", _bits(value), span)
    elif buses := _BUSES.match(text):
        domain = device.address.partition(":")[0]
        device.secondary = f"{domain}:{int(buses[2], 16):02x}"
    elif request := _READ_REQUEST.search(text):
        device.put("maximum_read_request_bytes", int(request[1]), span)
    elif key == "Capabilities" and value == "<access denied>":
        refused = {"status": "not_permitted", "message": "run lspci as root"}
        for leaf in _OF_CAPABILITIES:
            device.put(leaf, refused, span)


_TEXTS = {"IOMMU group": "iommu_group", "Kernel driver in use": "driver"}
_LINKS = {
    "LnkSta": ("speed_gigatransfers_per_second", "width"),
    "LnkCap": ("speed_maximum_gigatransfers_per_second", "width_maximum"),
}
_OF_CAPABILITIES = (
    "speed_gigatransfers_per_second",
    "speed_maximum_gigatransfers_per_second",
    "width",
    "width_maximum",
    "acs_control",
    "maximum_read_request_bytes",
)


def _bits(value: str) -> int:
    words = value.split()
    return sum(bit for name, bit in _ACCESS_CONTROL.items() if f"{name}+" in words)


READER = CaptureReader(
    "lspci", (" controller: ", " bridge: ", "controller [", "bridge ["), _detect, _read
)
