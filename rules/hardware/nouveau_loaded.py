"""The module nouveau on a node with GPUs of NVIDIA.

Why it hurts: it takes the GPUs, and the driver that CUDA needs cannot.

What passes: nouveau is not loaded.

Where it does not apply: a node without GPUs of NVIDIA.

Source: NVIDIA/DCGM, error 23; NVIDIA driver installation guide.

Bad::

    lsmod | grep nouveau

Good::

    echo 'blacklist nouveau' > /etc/modprobe.d/nouveau.conf
"""

from speccheck.rules.hardware._leaves import is_gpu_function
from speccheck.validator.evidence.node.host import Driver, PciDevices
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-063")
def nouveau_loaded(devices: PciDevices, driver: Driver) -> Verdicts:
    """Judge the loaded modules."""
    if not any(is_gpu_function(pci_device) for pci_device in devices.each()):
        return
    if "nouveau" not in driver.modules.need():
        yield passed(at=driver.modules)
        return
    yield fail(
        "the module nouveau is loaded",
        at=driver.modules,
        measured="loaded",
        required="not loaded",
        cost="CUDA finds no GPU",
        remedy="Blacklist nouveau, rebuild the initial file system, reboot.",
        action="FIX_CONFIG",
    )
