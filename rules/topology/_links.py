"""What rules on PCIe links share: which ports are above a device, and what they can do.

Both ends of a link tell the same speed and width of now, and each its own maximum: the
link can do what the lesser end can.
"""

from speccheck.validator.evidence.node.host import BRIDGE_CLASS, PciDevice, PciDevices
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdict, fail, passed

NO_PORT = "the port above the device is not in the snapshot"


def by_address(devices: PciDevices) -> dict[str, PciDevice]:
    """Return the devices by their address, where they state it."""
    return {
        pci_device.address.need(): pci_device
        for pci_device in devices.shown
        if pci_device.address.is_known
    }


def above(device: PciDevice) -> tuple[str, ...]:
    """Return the addresses above a device, from the root port down."""
    return tuple(text for text in device.ancestors.need() if text)


def port_above(device: PciDevice, known: dict[str, PciDevice]) -> PciDevice | None:
    """Return the other end of the link of a device; None where nobody states it."""
    texts = device.ancestors.or_else(())
    return known.get(texts[-1] or "") if texts else None


def is_bridge(device: PciDevice) -> bool:
    """Return whether it has links below it."""
    return device.pci_class.need().startswith(BRIDGE_CLASS)


def judged(device: PciDevice, port: PciDevice | None, what: str, cost: str) -> Verdict:
    """Return the verdict on a link against the most that both of its ends can do."""
    pairs = (
        (
            device.speed_gigatransfers_per_second,
            device.speed_maximum_gigatransfers_per_second,
            port.speed_maximum_gigatransfers_per_second if port else None,
        ),
        (device.width, device.width_maximum, port.width_maximum if port else None),
    )
    at = [leaf for value, most, _ in pairs for leaf in (value, most)]
    is_short = False
    for value, most, of_port in pairs:
        if value.need() < most.need():
            if of_port is None:
                raise MissingEvidence(device.ancestors.name, NO_PORT)
            is_short |= value.need() < min(most.need(), of_port.need())
    text = shown(device)
    if not is_short:
        return passed(f"{device.title} runs at {text}", at=at)
    wanted = best(device, port)
    return fail(
        f"{what} {device.title} runs at {text}; it and its slot can do {wanted}",
        at=at,
        measured=text,
        required=wanted,
        cost=cost,
        remedy=f"See lspci -vv -s {device.title} (LnkSta, LnkCap) and dmesg for its "
        "address; reseat the card or cable and power cycle, then replace the riser "
        "or the card.",
    )


def best(device: PciDevice, port: PciDevice | None) -> str:
    """Return the most that both ends of a link can do."""
    ends = [device, port] if port else [device]
    speeds = [end.speed_maximum_gigatransfers_per_second.value for end in ends]
    widths = [end.width_maximum.value for end in ends]
    speed = min(speed for speed in speeds if speed is not None)
    return f"{speed:g} GT/s x{min(width for width in widths if width is not None)}"


def shown(device: PciDevice) -> str:
    """Return the present state of the link: 16 GT/s x8."""
    speed = device.speed_gigatransfers_per_second.need()
    return f"{speed:g} GT/s x{device.width.need()}"
