"""The lines of `lspci -vvv`: devices, and what their lines say."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import (
    Found,
    line_span,
    pci_address,
    told,
    whole,
)

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
CLASSES = {
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


class Line(Record):
    """A leaf of a device as one line gives it."""

    leaf: str
    found: Found
    span: Span


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
        self.lines: list[Line] = []

    @property
    def bus(self) -> str:
        """Domain and bus: 0000:1b."""
        return self.address.rpartition(":")[0]

    def put(self, leaf: str, found: Found, span: Span) -> None:
        """Another leaf."""
        self.lines.append(Line(leaf, found, span))


def devices_of(text: str) -> list[Device]:
    """The devices of what lspci printed, in its order."""
    found: list[Device] = []
    for line_number, line in enumerate(text.splitlines(), 1):
        span = line_span(line_number, line)
        head = _HEAD.match(line)
        if head is not None:
            address = pci_address(head[1])
            device_class = head[3] or CLASSES.get(head[2].strip(), "")
            device = Device(address, device_class, span)
            found.append(device)
            if interface := _INTERFACE.search(line):
                device.interface = interface[1]
            ids = _IDS.findall(head[4])
            if ids:
                device.vendor = ids[-1][0]
                device.put("vendor", f"0x{ids[-1][0]}", span)
                device.put("device", f"0x{ids[-1][1]}", span)
        elif found and line[:1].isspace():
            _detail(found[-1], line.strip(), span)
    return found


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
        device.put("numa_node", told(value, whole), span)
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
