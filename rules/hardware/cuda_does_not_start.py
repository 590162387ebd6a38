"""A node on which CUDA refuses to start, although the driver shows its GPUs.

Why it hurts: nvidia-smi looks well and each program ends with its first call. On boards
with NVSwitch this is how a fabric manager that failed is met: GPUs are healthy one by
one, and may not be used before the fabric is ready.

What passes: cuInit returns 0. It makes no context and takes no memory of a GPU.

Where it does not apply: a node without GPUs of NVIDIA. That neither CUDA nor the driver
shows any to this process may be the doing of a container: then it is not known.

Source: cuda.h, CUresult; pytorch/pytorch issue 35710.

Bad::

    python -c 'import torch; torch.cuda.init()'   # Error 802: system not yet ...

Good::

    systemctl is-active nvidia-fabricmanager      # active
"""

from speccheck.rules.hardware._leaves import is_gpu_function
from speccheck.validator.evidence.node.fault_codes import (
    NO_DEVICE,
    STARTED,
    start_failure,
)
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver, PciDevices
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-140")
def cuda_does_not_start(driver: Driver, gpus: Gpus, devices: PciDevices) -> Verdicts:
    """Judge what CUDA's start returned."""
    if not gpus.shown and not any(
        is_gpu_function(pci_device) for pci_device in devices.each()
    ):
        return
    status = driver.cuda_start_status
    code = status.need()
    if code == STARTED:
        yield passed(at=status, measured=code, required=STARTED)
        return
    if code == NO_DEVICE and not gpus.shown:
        reason = "neither CUDA nor the driver shows a GPU to this process"
        raise MissingEvidence(status.name, reason)
    result = start_failure(code)
    yield fail(
        f"CUDA does not start: cuInit returns {code} ({result.name}): {result.reason}",
        at=status,
        measured=code,
        required=STARTED,
        cost="no program can start on the GPUs",
        remedy=result.remedy,
        action=result.action,
    )
