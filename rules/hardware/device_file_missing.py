"""A GPU without its device file, or without those that control all GPUs.

Why it hurts: the management library may still list what CUDA cannot open; the program
sees fewer GPUs, or none.

What passes: nvidiactl and a file for each GPU that the driver lists, and nvidia-uvm
within a container; a host makes that one when CUDA first starts.

Where it does not apply: nowhere.

Source: NVIDIA/DCGM error 18; nvidia-modprobe.

Bad::

    ls /dev/nvidia*   # nvidia0 nvidiactl, in a container on eight GPUs

Good::

    ls /dev/nvidia*   # nvidia0 ... nvidia7 nvidiactl nvidia-uvm
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver, Host
from speccheck.validator.rule import Verdicts, fail, passed, rule

_CONTROL = "nvidiactl"
_UNIFIED_MEMORY = "nvidia-uvm"


@rule(clause="HW-035")
def device_file_missing(gpus: Gpus, driver: Driver, host: Host) -> Verdicts:
    """Judge the files against the GPUs that the driver lists."""
    if not gpus.each():
        return
    files = driver.device_nodes
    present = set(files.need())
    needed = [_CONTROL, *(f"nvidia{gpu.minor_number.need()}" for gpu in gpus.each())]
    if host.container.need() != "none":
        needed.append(_UNIFIED_MEMORY)
    missing = [f"/dev/{name}" for name in needed if name not in present]
    if not missing:
        yield passed(at=files)
        return
    yield fail(
        f"{', '.join(missing)} is not there; each listed GPU must have its files",
        at=files,
        measured=len(needed) - len(missing),
        required=len(needed),
        cost="CUDA does not start, or sees fewer GPUs",
        action="FIX_CONFIG",
    )
