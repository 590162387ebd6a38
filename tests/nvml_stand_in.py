"""A management library of our own, and snapshots that are taken with it.

It is built of tests/nvml_library with gcc, and answers what a file says. The real
binding loads it in the real child process: only the library is another.
"""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from speccheck.probes.collect import snapshot

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "tests" / "nvml_library"
EIGHT_H100 = (SOURCES / "eight_h100.txt").read_text(encoding="utf-8")
_NAME = "libnvidia-ml.so.1"


def build(folder: Path, *defined: str) -> Path:
    """Return the folder with the library in it; skips the test without gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    subprocess.run(
        [
            compiler,
            *("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"),
            *(f"-D{item}" for item in defined),
            f"-Wl,-soname,{_NAME}",
            "-o",
            folder / _NAME,
            *sorted(SOURCES.glob("*.c")),
        ],
        check=True,
    )
    return folder


class StandIn:
    """A node whose management library answers what it is told to."""

    def __init__(
        self, library: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._file = folder / "answers.txt"
        monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
        monkeypatch.setenv("NVML_LIBRARY_FILE", str(self._file))
        monkeypatch.setenv("PYTHONPATH", str(ROOT / ".imports"))
        self.answers()

    def answers(self, *lines: str, without: Iterable[str] = ()) -> None:
        """Answer as eight healthy H100, but for these lines and without those keys."""
        healthy = (
            line
            for line in EIGHT_H100.splitlines()
            if not line.startswith(tuple(f"{key}=" for key in without))
        )
        self._file.write_text("\n".join([*healthy, *lines, ""]), encoding="utf-8")

    def snapshot(self, *lines: str, budget_seconds: float = 30.0) -> dict[str, Any]:
        """Return what the probe of GPUs finds with these faults."""
        if lines:
            self.answers(*lines)
        return snapshot(probes=("gpu",), budget_seconds=budget_seconds)


def without_library(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the loader find no library but one that cannot be loaded."""
    (folder / _NAME).write_bytes(b"no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / ".imports"))
