"""Fewer GPUs than the PCIe bus of the node holds.

Why it hurts: the launcher starts a rank for each GPU that the machine should have; the
job does not start, or starts on the wrong number.

What passes: the driver lists each NVIDIA display function on the bus that it may use.
Functions that are given to virtual machines are omitted.

Where it does not apply: within a container, which may be given a part of the GPUs, and
where the bus could not be listed.

Source: Azure/azurehpc-health-checks check_gpu_count; NVIDIA/DCGM error 20.

Bad::

    lspci -d 10de: | grep -c 3D    # 8
    nvidia-smi -L | wc -l          # 7

Good::

    lspci -d 10de: | grep -c 3D    # 8
    nvidia-smi -L | wc -l          # 8
"""

from speccheck.rules.hardware._leaves import is_gpu
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-001")
def gpu_missing(gpus: Gpus, bus: PciDevices, host: Host) -> Verdicts:
    """Judge the GPUs of the driver against the functions on the bus."""
    if host.container.need() != "none":
        return
    on_bus = [pci_device for pci_device in bus.each() if is_gpu(pci_device)]
    listed = len(gpus.each())
    if listed >= len(on_bus):
        if on_bus:
            yield passed(at=[gpus.count, bus.count], measured=listed, required=listed)
        return
    known = {gpu.pci_address.value for gpu in gpus.each()}
    missing = [
        pci_device for pci_device in on_bus if pci_device.address.value not in known
    ]
    where = ", ".join(str(pci_device.address.value) for pci_device in missing)
    yield fail(
        f"the driver lists {listed} of {len(on_bus)} GPUs on the PCIe bus; missing is "
        f"{where}",
        at=[gpus.count, *(pci_device.address for pci_device in missing)],
        measured=listed,
        required=len(on_bus),
        cost="a job that counts on all GPUs does not start",
        remedy="Reboot once and see the kernel log for that address; drain the node "
        "and replace the GPU if it is still missing.",
        action="ISOLATE",
    )
