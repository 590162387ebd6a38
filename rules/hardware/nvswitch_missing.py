"""An NVSwitch that is not on the PCIe bus.

Why it hurts: the GPUs of the board lose a part of their NVLinks, or the fabric manager
does not start at all and with it no job.

What passes: as many NVSwitches on the bus as a board of eight such GPUs has.

Where it does not apply: virtual machines, which are not shown them; boards of other
numbers of GPUs; NVLink 5 and racks, whose switches are not on the bus of the node.

Source: boards of eight in NVIDIA/k8s-test-infra (six for A100, four for H100);
facebookresearch/gcm; leptonai/gpud.

Bad::

    lspci -d 10de: -n | grep -c ' 0680:'   # 3 beside eight H100

Good::

    lspci -d 10de: -n | grep -c ' 0680:'   # 4 beside eight H100
"""

from speccheck.validator.evidence.node.fault_codes import LINK_TO_SWITCH
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import (
    NVIDIA_VENDOR,
    NVSWITCH_CLASS,
    Host,
    PciDevices,
)
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_THIRD, _FOURTH = "3", "4"


class OfBoard(Numbers):
    """The NVSwitches of a board with so many GPUs, by generation of NVLink."""

    board_gpus: int
    third_switches: int
    fourth_switches: int


@rule(clause="HW-088")
def nvswitch_missing(
    gpus: Gpus,
    devices: PciDevices,
    host: Host,
    profiles: GpuProfiles,
    board: OfBoard,
) -> Verdicts:
    """Count the NVSwitches of a board of eight."""
    if host.virtualisation.need() != "none" or len(gpus.each()) != board.board_gpus:
        return
    ends = [gpu.nvlink_remote_type for gpu in gpus.each()]
    if all(end.status == "not_supported" for end in ends):
        return
    if not any(LINK_TO_SWITCH in end.need() for end in ends):
        return
    generation = str(profiles.shared(gpus).nvlink_generation.need())
    wanted = {
        _THIRD: board.third_switches,
        _FOURTH: board.fourth_switches,
    }.get(generation)
    if wanted is None:
        return
    pci_devices = [
        pci_device
        for pci_device in devices.each()
        if pci_device.vendor.need() == NVIDIA_VENDOR
        and pci_device.pci_class.need().startswith(NVSWITCH_CLASS)
    ]
    if len(pci_devices) >= wanted:
        at = [pci_device.address for pci_device in pci_devices]
        yield passed(at=at, measured=len(pci_devices), required=wanted)
        return
    yield fail(
        f"{len(pci_devices)} NVSwitches are on the bus; a board of "
        f"{board.board_gpus} such "
        f"GPUs has {wanted}",
        at=[pci_device.address for pci_device in pci_devices] or devices.count,
        measured=len(pci_devices),
        required=wanted,
        cost="NVLinks are missing, or the fabric manager does not start",
        remedy="See lspci -d 10de: and dmesg for SXid; power cycle the node (off, not "
        "reboot); have the board replaced if the switch stays away.",
        action="ISOLATE",
    )
