"""RDMA devices without the modules that programs reach them by.

Why it hurts: NCCL finds no verbs and falls back to TCP sockets.

What passes: the core and the user access of RDMA are loaded, and the driver of the
devices.

Where it does not apply: a node without RDMA devices and without InfiniBand adapters.

Source: awslabs/awsome-distributed-ai; Linux drivers/infiniband.

Bad::

    lsmod | grep ib_            # ib_core alone

Good::

    modprobe ib_uverbs
"""

from speccheck.validator.evidence.node.host import Driver, PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, fail, passed, rule

_MELLANOX = "0x15b3"
_INFINIBAND_CLASS = "0x0207"
_CORE = ("ib_core", "ib_uverbs")
_OF_DRIVER = {"mlx5_core": "mlx5_ib", "efa": "efa"}


@rule(clause="FAB-032")
def rdma_modules_missing(
    devices: RdmaDevices, pci: PciDevices, driver: Driver
) -> Verdicts:
    """Compare the loaded modules with those that the devices need."""
    drivers = {rdma_device.driver.need() for rdma_device in devices.each()}
    if not drivers and not _has_infiniband(pci):
        return
    modules = driver.modules
    needed = [
        *_CORE,
        *(_OF_DRIVER[driver] for driver in sorted(drivers & {*_OF_DRIVER})),
    ]
    if not drivers:
        needed.append(_OF_DRIVER["mlx5_core"])
    missing = [text for text in needed if text not in modules.need()]
    if missing:
        yield fail(
            f"the modules {', '.join(missing)} are not loaded",
            at=modules,
            measured=", ".join(missing),
            required=", ".join(needed),
            cost="NCCL falls back to TCP sockets",
            remedy=f"modprobe {' '.join(missing)}, and load them at every start.",
            action="FIX_CONFIG",
        )
        return
    yield passed(at=modules)


def _has_infiniband(pci: PciDevices) -> bool:
    """Return whether an InfiniBand adapter of NVIDIA has no RDMA device."""
    return any(
        pci_device.vendor.value == _MELLANOX
        and pci_device.pci_class.or_else("").startswith(_INFINIBAND_CLASS)
        for pci_device in pci.each()
    )
