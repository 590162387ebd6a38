"""The adapter of schedulers, run with programs that stand for speccheck."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INTEGRATIONS = ROOT / "integrations"
ADAPTER = INTEGRATIONS / "adapter.sh"
SHELLS = ("dash", "bash", "busybox sh")
_PATIENCE_SECONDS = 60


@dataclass
class Ended:
    """How the adapter ended, and what it kept."""

    code: int
    told: str
    report: str
    verdict: list[str]


@dataclass
class Adapter:
    """The adapter under one shell, in a folder of the test."""

    shell: list[str]
    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    def program(self, text: str) -> Path:
        """Return a program that the adapter takes for speccheck."""
        path = self.folder / "speccheck"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def run(self, program: str | Path, *words: str, **settings: str) -> Ended:
        """Run it once; nothing of its temporary folder stays."""
        verdict = self.folder / "verdict"
        verdict.unlink(missing_ok=True)
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        own = {
            "PATH": os.environ["PATH"],
            "SPECCHECK": str(program),
            "SPECCHECK_VERDICT_FILE": str(verdict),
            "SPECCHECK_SITE_FILE": str(self.folder / "site.env"),
            "TMPDIR": str(temporary),
        }
        (self.folder / "site.env").touch()
        found = subprocess.run(
            [*self.shell, str(ADAPTER), *words],
            env=own | self.settings | settings,
            capture_output=True,
            check=False,
            timeout=_PATIENCE_SECONDS,
        )
        assert not list(temporary.iterdir())
        return Ended(
            found.returncode,
            found.stderr.decode("utf-8", "replace"),
            found.stdout.decode("utf-8", "replace"),
            verdict.read_text("ascii").splitlines() if verdict.exists() else [],
        )


def adapter_under(shell: str, folder: Path) -> Adapter:
    """Skip the test where there is no such shell."""
    program, *words = shell.split()
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return Adapter([path, *words], folder)
