"""What a site puts into Slurm: the scripts of integrations/slurm, and a speccheck.

All nodes of a cluster of tests are one machine, so each has a file of its own that its
speccheck reads first: there a test plants what is wrong with this node alone.
"""

import os
import sys
from pathlib import Path

from nvml_stand_in import EIGHT_H100, ROOT

SCRIPTS = ROOT / "integrations" / "slurm"
RULE = "memory_fault_pending"
ONE_RULE = ("--select", RULE, "--isolated")
# What stands for speccheck where only the scripts are shown.
GO = "echo 'go: all hold'; exit 0"
NO_GO = """\
printf 'no-go: 1 error\\n\\nerror HW-999 gpu_gone  GPU 3\\n  GPU 3 does not answer\\n'
exit 1"""
NO_GO_REASON = "speccheck: HW-999 gpu_gone GPU 3: GPU 3 does not answer"
HANG = "exec sleep 600"


class Site:
    """The settings of a site, in the folder of a cluster."""

    def __init__(self, folder: Path, library: Path | None = None) -> None:
        self.folder = folder
        self.kept = folder / "kept"
        self._library = library
        for name in ("nodes", "hooks"):
            (folder / name).mkdir()
        self.program = self._script(
            "speccheck",
            f'[ -r "{folder}/nodes/$SLURMD_NODENAME" ] &&'
            f' . "{folder}/nodes/$SLURMD_NODENAME"',
            f'. "{folder}/nodes/any"',
        )
        self.settings()

    def settings(self, *lines: str) -> None:
        """Write the site's file; these lines win over the usual ones."""
        usual = (
            f"SPECCHECK={self.program}",
            f"SPECCHECK_STATE={self.kept}",
            f"SLURM_CONF={self.folder}/slurm.conf",
            f"TMPDIR={self.folder}",
            f"PATH={os.environ['PATH']}:/usr/sbin",
            "SPECCHECK_PROLOG_SECONDS=60",
            "SPECCHECK_EPILOG_SECONDS=60",
        )
        names = tuple(line.partition("=")[0] + "=" for line in lines)
        kept = [line for line in usual if not line.startswith(names)]
        text = "\n".join([*lines, *kept, ""])
        (self.folder / "site.env").write_text(text, encoding="utf-8")

    def every_node(self, text: str) -> None:
        """Set what speccheck is on nodes of which nothing else is said."""
        (self.folder / "nodes" / "any").write_text(text + "\n", encoding="utf-8")

    def node(self, name: str, text: str) -> None:
        """Set what it is on this node; without a text: as on every other."""
        path = self.folder / "nodes" / name
        if text:
            part = path.with_suffix(".part")
            part.write_text(text + "\n", encoding="utf-8")
            part.rename(path)
        else:
            path.unlink()

    def real(self, *answers: str) -> str:
        """Return the real speccheck, for which eight H100 answer so."""
        assert self._library is not None
        keys = tuple(line.partition("=")[0] + "=" for line in answers)
        rows = [line for line in EIGHT_H100.splitlines() if not line.startswith(keys)]
        number = len(list(self.folder.glob("answers.*")))
        path = self.folder / f"answers.{number}"
        path.write_text("\n".join([*rows, *answers, ""]), encoding="utf-8")
        return (
            f"export NVML_LIBRARY_FILE='{path}' LD_LIBRARY_PATH='{self._library}'\n"
            f"export PYTHONPATH='{ROOT / '.imports'}'\n"
            f'exec "{sys.executable}" -m speccheck "$@"'
        )

    def hook(self, name: str) -> str:
        """Return a script of integrations/slurm for slurm.conf, with the settings.

        What it says is kept: Slurm throws it away.
        """
        path = self._script(
            f"hooks/{name}",
            f"export SPECCHECK_SITE_FILE='{self.folder}/site.env'",
            f'echo "ran $SLURMD_NODENAME" >>"{self.folder}/{name}.log"',
            f"exec {SCRIPTS}/{name}.sh 2>>'{self.folder}/{name}.log'",
        )
        return str(path)

    def told(self, name: str) -> list[str]:
        """Return the lines that a hook said, on all nodes together."""
        path = self.folder / f"{name}.log"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def runs(self, name: str, node: str) -> int:
        """Return how often a hook has begun on a node."""
        return self.told(name).count(f"ran {node}")

    def _script(self, name: str, *lines: str) -> Path:
        path = self.folder / name
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
        path.chmod(0o755)
        return path
