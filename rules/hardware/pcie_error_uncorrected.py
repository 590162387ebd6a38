"""A GPU or an adapter that lost PCIe transactions since boot.

Why it hurts: such an error is not repaired by the link. The driver may retry, or the
program may have read something that was never written.

What passes: no uncorrected error that was not fatal, by the counters of the driver and
of the kernel.

Where it does not apply: GPUs that count none; of adapters, those whose kernel counts
none. Fatal errors have a clause of their own.

Source: NVML field 179; Documentation/ABI/testing/sysfs-bus-pci-devices-aer;
NVIDIA/DCGM.

Bad::

    cat /sys/bus/pci/devices/0000:1b:00.0/aer_dev_nonfatal   # TOTAL_ERR_NONFATAL 12

Good::

    cat /sys/bus/pci/devices/0000:1b:00.0/aer_dev_nonfatal   # TOTAL_ERR_NONFATAL 0
"""

from speccheck.rules.hardware._bus_errors import Errors, judged
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, rule


@rule(clause="HW-091")
def pcie_error_uncorrected(
    gpus: Gpus, adapters: RdmaDevices, devices: PciDevices, limit: Errors
) -> Verdicts:
    """Judge the counters of GPUs and RDMA devices."""
    return judged(gpus, adapters, devices, limit, kind="non_fatal", action="MONITOR")
