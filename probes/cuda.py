"""Asks the library of CUDA to start, as every program on a GPU does first.

`cuInit` makes no context and takes no memory of a GPU. It stands alone in its process:
where the fabric is not ready it may take long, or crash. It is not asked where that
would change the machine: without the device file of unified memory, CUDA has its
module loaded.
"""

import ctypes
import os

from speccheck.probes.raw_value import Absence, RawValue, Sheet
from speccheck.probes.root import Root

KINDS = ("driver",)
_LIBRARY = "libcuda.so.1"
_FUNCTION = "cuInit"
_SOURCE = f"{_FUNCTION} of {_LIBRARY}"
_UNIFIED_MEMORY = "/dev/nvidia-uvm"
# What hides GPUs from a job is not what the node has; what profilers bring along is
# not the driver's. CUDA documentation, environment variables.
_NOT_OF_THE_NODE = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_INJECTION64_PATH",
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
)


def probe(root: Root, sheet: Sheet, device: str = _UNIFIED_MEMORY) -> None:
    """Put down how CUDA starts; device: without which it is not queried."""
    sheet.put("driver", "cuda_start_status", _status(root, sheet, device), _SOURCE)


def _status(root: Root, sheet: Sheet, device: str) -> RawValue:
    if not root.is_live:
        message = "a copy of the files has no GPUs to ask"
        return Absence("absent", _SOURCE, message)
    if not root.exists(device):
        message = f"is not asked without {device}: CUDA would have its module loaded"
        return Absence("absent", _SOURCE, message)
    for name in _NOT_OF_THE_NODE:
        os.environ.pop(name, None)
    # By a server that the GPUs are shared with nothing is to be started either.
    os.environ["CUDA_MPS_PIPE_DIRECTORY"] = os.devnull
    sheet.doing(_SOURCE)
    try:
        start = ctypes.CDLL(_LIBRARY)[_FUNCTION]
    except (OSError, AttributeError) as error:
        is_missing = "cannot open shared object file" in str(error)
        return Absence("absent" if is_missing else "failed", _SOURCE, str(error))
    start.argtypes, start.restype = [ctypes.c_uint], ctypes.c_int
    return int(start(0))
