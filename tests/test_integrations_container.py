"""The container file, in text: what it says, and that what it runs installs speccheck.

No engine of containers is needed, and none is asked.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from glob import glob
from pathlib import Path
from typing import NamedTuple

import pytest

from speccheck.validator import VERSION

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "integrations" / "container" / "Containerfile"
_CONTINUED = re.compile(r"\\\n\s*")


class Instruction(NamedTuple):
    """One of a container file, of the stage with that number."""

    stage: int
    name: str
    words: str


def _instructions() -> list[Instruction]:
    text = FILE.read_text("utf-8")
    lines = [item for item in text.splitlines() if not item.startswith("#")]
    found, stage = [], 0
    for line in _CONTINUED.sub(" ", "\n".join(lines)).splitlines():
        name, _, words = line.partition(" ")
        if not name:
            continue
        stage += name == "FROM"
        found.append(Instruction(stage, name, words.strip()))
    return found


INSTRUCTIONS = _instructions()
FINAL = max(item.stage for item in INSTRUCTIONS)


def _of(name: str, stage: int) -> list[str]:
    return [item.words for item in INSTRUCTIONS if item[:2] == (stage, name)]


def test_there_are_two_stages_of_one_base_that_can_be_fixed() -> None:
    assert _of("ARG", 0) == ["PYTHON=docker.io/library/python:3.13-slim-bookworm"]
    bases = [item.words for item in INSTRUCTIONS if item.name == "FROM"]
    assert bases == ["${PYTHON} AS build", "${PYTHON}"]
    text = FILE.read_text("utf-8")
    assert "--build-arg PYTHON=docker.io/library/python@sha256:" in text


def test_the_image_runs_without_root_and_shows_no_gpu_by_itself() -> None:
    (user,) = _of("USER", FINAL)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    after = [item.name for item in INSTRUCTIONS if item.stage == FINAL]
    assert after.index("USER") > max(
        at for at, name in enumerate(after) if name in {"COPY", "RUN"}
    )
    (variables,) = _of("ENV", FINAL)
    assert "NVIDIA_VISIBLE_DEVICES" not in variables
    assert json.loads(_of("ENTRYPOINT", FINAL)[0]) == ["speccheck"]
    assert json.loads(_of("CMD", FINAL)[0]) == ["preflight"]
    assert {item.name for item in INSTRUCTIONS} <= {
        *("ARG", "FROM", "WORKDIR", "COPY", "RUN", "LABEL", "ENV", "USER"),
        *("ENTRYPOINT", "CMD"),
    }
    assert "latest" not in " ".join(item.words for item in INSTRUCTIONS)


def test_only_what_is_built_is_left_in_the_image() -> None:
    copied = _of("COPY", FINAL)
    assert copied[0] == "--from=build /opt/speccheck /opt/speccheck"
    assert _of("RUN", FINAL) == []
    sources = [shlex.split(item)[:-1] for item in copied[1:]]
    found = {name for words in sources for word in words for name in _matching(word)}
    assert found == {
        *("integrations/adapter.sh", "integrations/site.sh"),
        *(f"integrations/kubernetes/{name}.sh" for name in _SCRIPTS),
    }


_SCRIPTS = ("last-round", "periodic", "wait")


def _matching(pattern: str) -> list[str]:
    found = [os.path.relpath(item, ROOT) for item in glob(str(ROOT / pattern))]
    assert found, f"COPY {pattern}: nothing is called so"
    return found


@pytest.mark.parametrize("path", glob(str(ROOT / "integrations/kubernetes/*.yaml")))
def test_scripts_that_manifests_start_lie_in_the_image(path: str) -> None:
    text = Path(path).read_text("utf-8")
    for name in re.findall(r"/usr/local/lib/speccheck/([\w/.-]+)", text):
        assert os.access(ROOT / "integrations" / name, os.X_OK), name


@pytest.mark.slow
def test_what_it_runs_installs_the_command(tmp_path: Path) -> None:
    """The commands of RUN, in a folder that stands for the image's root.

    Nothing is fetched: what pip would ask the index for is that of this environment.
    """
    source = tmp_path / "source"
    for words in _of("COPY", 1):
        *names, target = shlex.split(words)
        for name in names:
            _copy(ROOT / name, source / target / (name if target == "./" else ""))
    (run,) = _of("RUN", 1)
    places = re.compile(r"(?<![\w/$}])/(opt|wheels)(?=/)|(?<= )/wheels(?= )")
    command = places.sub(lambda item: f"{tmp_path}{item[0]}", run)
    assert command.count(str(tmp_path)) == run.count("/opt/") + run.count("/wheels")
    scripts = sysconfig.get_path("scripts")
    own = {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's word for: build with what is here
        "PIP_NO_DEPS": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "EXTRAS": "",
        "HOME": str(tmp_path),
    }
    ended = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=source,
        env=own,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    installed = tmp_path / "opt" / "speccheck"
    (packages,) = installed.glob("lib/python*/site-packages")
    dependencies = sysconfig.get_path("purelib")
    (packages / "dependencies.pth").write_text(dependencies + "\n", encoding="utf-8")
    result = subprocess.run(
        [installed / "bin" / "speccheck", "--version"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == f"speccheck {VERSION}\n"
    assert list(packages.glob("speccheck/validator/__init__.py"))
    assert sys.version_info >= (3, 11)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(
            source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
