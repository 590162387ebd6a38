"""An IOMMU that translates what GPUs and adapters read and write.

Why it hurts: each transfer of GPUDirect is looked up in tables of the IOMMU; peer and
RDMA traffic lose rate, and some drivers refuse it.

What passes: GPUs and RDMA devices in groups that the IOMMU leaves alone (iommu=pt), or
no IOMMU in use.

Where it does not apply: virtual machines, and processors of ARM, whose adapters need
translation.

Source: NVIDIA/nccl issue 489; Documentation/ABI/testing/sysfs-kernel-iommu_groups of
the Linux kernel.

Bad::

    cat /sys/kernel/iommu_groups/41/type   # DMA-FQ

Good::

    cat /sys/kernel/iommu_groups/41/type   # identity
"""

from speccheck.rules.topology._placement import is_bare_server
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import (
    UNTRANSLATED,
    Host,
    PciDevice,
    PciDevices,
)
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, fail, passed, rule

_TRANSLATES = "DMA"  # with queues of its own: DMA-FQ


@rule(clause="TOPO-054")
def devices_translated(
    gpus: Gpus, adapters: RdmaDevices, devices: PciDevices, host: Host
) -> Verdicts:
    """Judge the group of each GPU and RDMA device."""
    if not is_bare_server(host):
        return
    places = {part.pci_address.need() for part in (*gpus.each(), *adapters.each())}
    mine = [
        pci_device
        for pci_device in devices.each()
        if pci_device.address.need() in places
    ]
    if not mine:
        return
    pci_devices = [pci_device for pci_device in mine if _is_translated(pci_device)]
    if pci_devices:
        modes = ", ".join(
            sorted({str(pci_device.iommu_domain.value) for pci_device in pci_devices})
        )
        yield fail(
            f"the IOMMU translates for {len(pci_devices)} of {len(mine)} GPUs and "
            "adapters "
            f"({modes}); it should for none",
            at=[pci_device.iommu_domain for pci_device in pci_devices],
            measured=modes,
            required=UNTRANSLATED,
            cost="peer and RDMA traffic are looked up in tables of the IOMMU",
            remedy="Boot with iommu=pt on the kernel command line (and intel_iommu=on "
            "or amd_iommu=on if virtual functions are used).",
            action="FIX_CONFIG",
        )
        return
    if host.iommu_units.value == 0:
        yield passed("no IOMMU is in use", at=host.iommu_units)
        return
    domains = [pci_device.iommu_domain for pci_device in mine]
    if all(domain.need() == UNTRANSLATED for domain in domains):
        yield passed(at=domains, measured=UNTRANSLATED, required=UNTRANSLATED)


def _is_translated(device: PciDevice) -> bool:
    return device.iommu_domain.or_else("").startswith(_TRANSLATES)
