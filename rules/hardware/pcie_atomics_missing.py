"""A GPU that atomic operations over PCIe do not reach.

Why it hurts: kernels and libraries that signal between adapters, processors and GPUs by
atomic operations fall back to slower ways, or do not run; training by NCCL alone does
without. It is told so that nobody looks for it elsewhere.

What passes: at least one atomic operation reaches the GPU over its path.

Where it does not apply: a GPU or a driver that does not tell; most virtual machines.

Source: nvml.h, NVML_FI_DEV_PCIE_INBOUND_ATOMICS_MASK; PCI Express specification, atomic
operations. Operations from the GPU to others are no matter: sound boards have none.

Bad::

    nvidia-smi -q   # Atomic Caps Inbound: N/A, its peers have FETCHADD_32 ...

Good::

    nvidia-smi -q   # Atomic Caps Inbound: FETCHADD_32 FETCHADD_64 SWAP_32 ...
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-141")
def pcie_atomics_missing(gpu: Gpu) -> Verdicts:
    """Report a GPU that none reaches."""
    mask = gpu.pcie_atomics_to_gpu
    if mask.status == "not_supported":
        return
    if mask.need():
        yield passed(at=mask, measured=hex(mask.need()))
        return
    yield fail(
        "no atomic operation over PCIe reaches the GPU",
        at=mask,
        measured="none",
        required="one or more",
        action="MONITOR",
    )
