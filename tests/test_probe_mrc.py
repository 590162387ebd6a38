"""The probe of the library of MRC, on a small one of our own in the real process."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nvml_stand_in import ROOT
from speccheck.probes.collect import snapshot

SOURCE = ROOT / "tests" / "mrc_library" / "mrc.c"


def library(folder: Path, text: str) -> Path:
    """Build a library of this source; skips the test without gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    path, source = folder / "libnv_mrc.so", folder / "source.c"
    source.write_text(text, "utf-8")
    command = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o"]
    subprocess.run([*command, str(path), str(source)], check=True)
    return path


def taken(monkeypatch: pytest.MonkeyPatch, path: Path) -> object:
    """Return what a snapshot holds with that library."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / ".imports"))
    monkeypatch.setenv("VMRC_LIBMRC_SO", str(path))
    return snapshot(probes=("mrc_library",), budget_seconds=30.0)["driver"]


@pytest.mark.parametrize(
    ("answer", "version"), [("0x01000001", "1.0.1"), ("0x0203000A", "2.3.10")]
)
def test_the_version_is_that_of_the_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str, version: str
) -> None:
    monkeypatch.setenv("MRC_LIBRARY_ANSWER", answer)
    path = library(tmp_path, SOURCE.read_text("utf-8"))
    assert taken(monkeypatch, path) == {"mrc_api_version": version}


def test_another_library_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = library(tmp_path, "int other(void);\nint other(void) { return 1; }\n")
    found = taken(monkeypatch, path)
    assert isinstance(found, dict)
    assert found["mrc_api_version"]["status"] == "failed"
