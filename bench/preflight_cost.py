"""What `speccheck preflight` costs on a node of eight GPUs: all of its processes.

The node has the management library of the tests, which answers as eight H100 do. CPU
time is that of preflight and of each probe that it waits for.
"""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LIBRARY = ROOT / "tests" / "nvml_library"
_ANSWERS = _LIBRARY / "eight_h100.txt"
_NAME = "libnvidia-ml.so.1"


def eight_gpus(folder: Path) -> dict[str, str]:
    """Return the variables by which processes find the library; none without gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return {}
    subprocess.run(
        [
            *(compiler, "-shared", "-fPIC", "-O1", f"-Wl,-soname,{_NAME}"),
            *("-o", str(folder / _NAME)),
            *map(str, sorted(_LIBRARY.glob("*.c"))),
        ],
        check=True,
    )
    return {
        "LD_LIBRARY_PATH": str(folder),
        "NVML_LIBRARY_FILE": str(_ANSWERS),
    }
