"""The proprietary kernel module on GPUs that need the open one.

Why it hurts: GPUs of Blackwell and later are supported by the open module alone.

What passes: the open kernel module.

Where it does not apply: older GPUs, which both support.

Source: NVIDIA/open-gpu-kernel-modules README; NVIDIA driver documentation, kernel
module flavours.

Bad::

    cat /proc/driver/nvidia/version     # NVIDIA UNIX x86_64 Kernel Module

Good::

    cat /proc/driver/nvidia/version     # NVIDIA UNIX Open Kernel Module
"""

from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Generation(Numbers):
    """The compute capability from which on the open module is needed."""

    open_from: float


@rule(clause="HW-061")
def closed_module_on_blackwell(
    gpus: Gpus, driver: Driver, limit: Generation
) -> Verdicts:
    """Judge the flavour of the module by the newest GPU."""
    numbers = [_capability(gpu) for gpu in gpus.each()]
    if not numbers or max(numbers) < limit.open_from:
        return
    if driver.kernel_module_is_open.need():
        yield passed(at=driver.kernel_module_is_open)
        return
    yield fail(
        f"the proprietary kernel module drives GPUs of compute capability "
        f"{max(numbers)}; from {limit.open_from} on it should be the open one",
        at=driver.kernel_module_is_open,
        measured="proprietary",
        required="open",
        cost="GPUs are not found, or GPUDirect RDMA by dma-buf is missing",
        remedy="Install the open flavour (nvidia-open) of the same driver release.",
        action="FIX_CONFIG",
    )


def _capability(gpu: Gpu) -> float:
    leaf = gpu.compute_capability
    try:
        return float(leaf.need())
    except ValueError:
        reason = f"{leaf.value!r} is no compute capability"
        raise MissingEvidence(leaf.name, reason) from None
