"""Nodes that integrations start: all of them this machine, each with GPUs of its own.

The scripts of `integrations/` find speccheck by PATH, as they do on a node; what stands
there is that of this checkout. Only the rules that tests select are judged: what
else this machine is does not matter.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from nvml_stand_in import EIGHT_H100, ROOT

INTEGRATIONS = ROOT / "integrations"
SETTINGS = 'select = ["memory_fault_pending", "expected_node_missing"]\n'
SCRIPT = "torchrun --nnodes 4 --nproc-per-node 8 train.py\n"
REMAP = "gpu.2.remap_pending=1"  # the fault that tests plant
PATIENCE_SECONDS = 120
# What a launcher of these tests would leave to the nodes.
_OF_LAUNCHERS = ("OMPI_", "PMI", "PRTE", "SLURM", "SPECCHECK", "TORCHELASTIC_", "JOB_")
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_NAME", "KUBERNETES_SERVICE_HOST")


class Site:
    """A folder with the programs, the files of a job, and GPUs that nodes show."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.program("speccheck", f'exec "{sys.executable}" -m speccheck "$@"')
        self.job = folder / "job"
        self.job.mkdir()
        (self.job / "speccheck.toml").write_text(SETTINGS, encoding="utf-8")
        self.script = self.job / "train.sh"
        self.script.write_text(SCRIPT, encoding="utf-8")
        own = {
            name: value
            for name, value in os.environ.items()
            if name not in _NAMES and not name.startswith(_OF_LAUNCHERS)
        }
        self.environ = own | {
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / ".imports"),
            "LD_LIBRARY_PATH": str(library),
            "NVML_LIBRARY_FILE": str(self.gpus("healthy")),
        }

    def program(self, name: str, text: str) -> Path:
        """Return a program that the scripts find."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def gpus(self, name: str, *faults: str) -> Path:
        """Return what the management library says of a node with eight GPUs."""
        path = self.folder / f"{name}.gpus"
        path.write_text("\n".join([EIGHT_H100, *faults, ""]), encoding="utf-8")
        return path

    def run(
        self, *command: str | Path, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Return one command, where the job's files are."""
        return run(self.environ | more, self.job, *command)


def run(
    environ: Mapping[str, str], folder: Path, *command: str | Path
) -> subprocess.CompletedProcess[str]:
    """Return one command, bounded."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
