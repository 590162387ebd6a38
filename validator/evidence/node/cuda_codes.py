"""What the codes mean that CUDA ends its start with, and what is to be done.

Source of all: cuda.h, enumeration CUresult, and its comments; CUDA documentation,
compatibility of releases (804) and the user guide of the fabric manager (802).
"""

from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.record import Record

STARTED = 0
NO_DEVICE = 100


class StartFailure(Record):
    """Why CUDA does not start: its name in cuda.h, the reason, and the remedy."""

    name: str
    reason: str
    remedy: str
    action: Action


_LOG = "Look for NVRM in dmesg"
_UNKNOWN = StartFailure(
    "an error",
    "cuda.h says what it means",
    f"{_LOG}; reset the GPUs (nvidia-smi -r on the idle node), then reboot.",
    "RESET_GPU",
)
_FAILURES: dict[int, StartFailure] = {
    2: StartFailure(
        "OUT_OF_MEMORY",
        "memory for the start cannot be had",
        "Free memory of host and GPUs: nvidia-smi names the processes.",
        "FIX_CONFIG",
    ),
    3: StartFailure(
        "NOT_INITIALIZED",
        "the driver is not started, or cannot be",
        f"{_LOG}; load the nvidia modules again, or reboot.",
        "REBOOT",
    ),
    34: StartFailure(
        "STUB_LIBRARY",
        "the library is the stub that programs are linked with, and no driver",
        "Take the folder lib64/stubs out of LD_LIBRARY_PATH.",
        "FIX_CONFIG",
    ),
    46: StartFailure(
        "DEVICE_UNAVAILABLE",
        "a GPU is in exclusive or prohibited mode, or kept by another process",
        "nvidia-smi -c DEFAULT, and end the process that nvidia-smi shows.",
        "FIX_CONFIG",
    ),
    NO_DEVICE: StartFailure(
        "NO_DEVICE",
        "it finds no GPU that it can use",
        f"{_LOG}; nvidia-smi shows whether the driver has lost them: then reboot.",
        "REBOOT",
    ),
    101: StartFailure(
        "INVALID_DEVICE",
        "a GPU is not valid for what is asked of it",
        f"{_LOG}; nvidia-smi -q tells the state of each GPU.",
        "RESET_GPU",
    ),
    102: StartFailure(
        "DEVICE_NOT_LICENSED",
        "a virtual GPU has no licence",
        "nvidia-smi -q tells the state of the licence; mend the licence service.",
        "FIX_CONFIG",
    ),
    214: StartFailure(
        "ECC_UNCORRECTABLE",
        "an uncorrectable memory error came up",
        "Reset that GPU: nvidia-smi -i N -r on the idle node.",
        "RESET_GPU",
    ),
    304: StartFailure(
        "OPERATING_SYSTEM",
        "a call of the operating system failed",
        "Look at the rights on /dev/nvidia* and at the limits of memory and files.",
        "FIX_CONFIG",
    ),
    802: StartFailure(
        "SYSTEM_NOT_READY",
        "the fabric of the GPUs is not ready: the fabric manager does not run, is of "
        "another release, or has not registered all GPUs",
        "systemctl restart nvidia-fabricmanager, of the driver's release; nvidia-smi "
        "-q must show Fabric State Completed; else reset all GPUs: nvidia-smi -r.",
        "RESET_GPU",
    ),
    803: StartFailure(
        "SYSTEM_DRIVER_MISMATCH",
        "the kernel module and the library of CUDA are of different releases",
        "Reboot the node, or unload the nvidia modules and load them again.",
        "REBOOT",
    ),
    804: StartFailure(
        "COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "a library for forward compatibility is loaded, and these GPUs do not run it",
        "Take the folder cuda/compat out of LD_LIBRARY_PATH, or update the driver.",
        "FIX_CONFIG",
    ),
    999: StartFailure(
        "UNKNOWN",
        "an internal error of the driver",
        f"{_LOG}; load nvidia_uvm again (modprobe -r, modprobe), reset the GPUs, then "
        "reboot.",
        "RESET_GPU",
    ),
}


def start_failure(code: int) -> StartFailure:
    """What a code other than 0 says."""
    return _FAILURES.get(code, _UNKNOWN)
