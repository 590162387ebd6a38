"""What `lspci -vvv` prints: PCIe devices, their links, and what lies above them."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import Capture, Found
from speccheck.validator.sources.formats._lspci import Device, devices_of
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

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
    """The devices that a node is judged by, and the bridges above them."""
    capture = Capture(source.name, "lspci")
    devices = devices_of(source.text)
    bridges = {one.secondary: one for one in devices if one.secondary}
    judged = [one for one in devices if _is_judged(one)]
    above = {
        bridge.address for one in judged for bridge in _bridges_above(one, bridges)
    }
    capture.listed("pci_devices", devices[0].span if devices else Span(1, 1, 1))
    for device in devices:
        if device in judged or device.address in above:
            _put(capture, device, bridges)
    if not any(one.device_class == _HOST_BRIDGE for one in devices):
        reason = "has no host bridge: lspci may have been asked for some devices"
        capture.partial("pci_devices", reason)
    return node_reading(capture.node(), FactSheet(source.name))


def _is_judged(device: Device) -> bool:
    if device.device_class == _SWITCH:
        return device.vendor == _NVIDIA
    return device.device_class in _JUDGED


def _bridges_above(device: Device, bridges: dict[str, Device]) -> list[Device]:
    """From the root port down."""
    found: list[Device] = []
    bridge = bridges.get(device.bus)
    while bridge is not None and bridge not in found and len(found) < _MOST_ABOVE:
        found.insert(0, bridge)
        bridge = bridges.get(bridge.bus)
    return found


def _put(capture: Capture, device: Device, bridges: dict[str, Device]) -> None:
    part = "pci_devices", capture.add("pci_devices", device.span)
    capture.put_at(part, "address", device.address, device.span)
    pci_class = f"0x{device.device_class}{device.interface}"
    capture.put_at(part, "pci_class", pci_class, device.span)
    for line in device.lines:
        capture.put_at(part, line.leaf, line.found, line.span)
    if bridges:
        above = _bridges_above(device, bridges)
        ancestors: Found = [bridge.address for bridge in above]
        capture.put_at(part, "ancestors", ancestors, device.span)


READER = CaptureReader(
    "lspci", (" controller: ", " bridge: ", "controller [", "bridge ["), _detect, _read
)
