"""Ask sbatch: `--test-only` of a script, up to the controller, which is not there.

It is the sbatch of the machine: a package of its distribution, and none of PyPI.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from oracles.drivers.serving import NotAskable, serve

_NO_CONTROLLER = "Unable to contact slurm controller"
_CLUSTER = """\
ClusterName=oracle
SlurmctldHost=localhost
AuthType=auth/none
MessageTimeout=2
SelectType=select/cons_tres
GresTypes=gpu
NodeName=localhost CPUs=64 Gres=gpu:8 State=UNKNOWN
PartitionName=main Nodes=localhost Default=YES
"""


class Refusal(Exception):  # noqa: N818 - the words of sbatch
    """What sbatch says of a script."""


def check(main: Path) -> None:
    """Hand the script to sbatch."""
    text = main.read_text(encoding="utf-8")
    script = Path("job.sbatch")
    script.write_text(text if text.startswith("#!") else _script(yaml.safe_load(text)))
    Path("slurm.conf").write_text(_CLUSTER)
    done = _sbatch(Path("slurm.conf").resolve(), "--test-only", str(script))
    sys.stderr.write(done.stderr)
    if "unrecognized option" in done.stderr:
        message = "an option of newer releases"
        raise NotAskable(message)
    if done.returncode and _NO_CONTROLLER not in done.stderr:
        lines = [line for line in done.stderr.splitlines() if "warning" not in line]
        raise Refusal(" ".join(lines[:2]))


def _sbatch(cluster: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sbatch", *arguments],  # noqa: S607 - wherever the machine has it
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "SLURM_CONF": str(cluster)},
    )


def _script(options: dict[str, object]) -> str:
    lines = [
        f"#SBATCH {name}" if value is True else f"#SBATCH {name}={value}"
        for name, value in options.items()
    ]
    return "\n".join(["#!/bin/bash", *lines, "srun hostname", ""])


def release() -> str:
    """Return name and release of the sbatch at hand; fail where there is none."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as cluster:
        cluster.write(_CLUSTER)
        cluster.flush()
        return _sbatch(Path(cluster.name), "--version").stdout.strip()


if __name__ == "__main__":
    sys.exit(serve(release(), check))
