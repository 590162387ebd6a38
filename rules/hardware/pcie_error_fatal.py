"""A GPU or an adapter whose PCIe link has failed since boot.

Why it hurts: a fatal error means that the link was not reliable any more and what was
under way is lost. It comes back under load, and takes the job with it.

What passes: no fatal error, by the counters of the driver and of the kernel.

Where it does not apply: GPUs that count none; of adapters and switches, those whose
kernel counts none. Corrected errors are repaired by the link itself and are not judged:
their rate would tell, and a single read has none.

Source: NVML fields 179 and 180; Documentation/ABI/testing/sysfs-bus-pci-devices-aer;
NVIDIA/DCGM.

Bad::

    cat /sys/bus/pci/devices/0000:1b:00.0/aer_dev_fatal   # TOTAL_ERR_FATAL 1

Good::

    cat /sys/bus/pci/devices/0000:1b:00.0/aer_dev_fatal   # TOTAL_ERR_FATAL 0
"""

from speccheck.rules.hardware._bus_errors import Errors, judged
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, rule


@rule(clause="HW-090")
def pcie_error_fatal(
    gpus: Gpus, adapters: RdmaDevices, devices: PciDevices, limit: Errors
) -> Verdicts:
    """Judge the counters of GPUs and RDMA devices."""
    return judged(gpus, adapters, devices, limit, kind="fatal", action="ISOLATE")
