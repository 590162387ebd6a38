"""PCIe devices as the kernel lists them: GPUs, switches, NICs and drives."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value

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
