"""PCIe devices as the kernel lists them: GPUs, switches, NICs and drives."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value

# Beginnings of class codes (PCI Code and ID Assignment Specification).
BRIDGE_CLASS = "0x0604"
NVME_CLASS = "0x010802"
NVSWITCH_CLASS = "0x0680"  # of NVIDIA's vendor; else other bridges of the board
NVIDIA_VENDOR = "0x10de"
# Bits of access control that send traffic between peers through the root complex:
# redirection of requests and of completions (PCI_ACS_RR and PCI_ACS_CR in
# include/uapi/linux/pci_regs.h).
ACCESS_REDIRECTIONS = 0x0C
# What an IOMMU does for a group: nothing, in the words of the kernel.
UNTRANSLATED = "identity"

Texts = tuple[str | None, ...]


class PciDevice(Part):
    """One function of a device that a training node is judged by."""

    __slots__ = ()
    kind = "pci_devices"

    address: Value[str]  # 0000:1b:00.0
    vendor: Value[str]  # 0x10de
    device: Value[str]
    pci_class: Value[str]  # 0x030200
    driver: Value[str]
    numa_node: Value[int]  # -1: the firmware does not say
    ancestors: Value[Texts]  # addresses from the root port down
    is_virtual_function: Value[bool]
    speed_gigatransfers_per_second: Value[float]
    speed_maximum_gigatransfers_per_second: Value[float]
    width: Value[int]
    width_maximum: Value[int]
    iommu_group: Value[str]
    iommu_domain: Value[str]  # of its group: identity, DMA, DMA-FQ
    correctable_errors: Value[int]  # AER, since boot
    non_fatal_errors: Value[int]
    fatal_errors: Value[int]
    # access control of a bridge: the bits of its control register, 0 all off
    acs_control: Value[int]
    maximum_read_request_bytes: Value[int]


class PciDevices(Parts[PciDevice]):
    """GPUs, NVSwitches, network adapters, drives, and the bridges above them."""

    __slots__ = ()
    part = PciDevice
