"""Build the environments of the oracles below build/oracles, each once.

A requirements file names every package with its version, so nothing is resolved: a
framework comes without the packages that its configuration never imports.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

from oracles.registry import ROOT, Environment, Registry

FOLDER = ROOT / "build" / "oracles"
_STAMP = ".installed"
_SECONDS = 1800
_FETCHING_SECONDS = 60.0


class NotBuilt(Exception):  # noqa: N818 - a reason to go without it
    """An environment that could not be built; the text says why."""


def python_of(name: str, known: Registry, folder: Path = FOLDER) -> Path:
    """Return the interpreter of an environment, built where it is not yet.

    Raises NotBuilt.
    """
    environment = known.environments[name]
    for base in environment.base:
        python_of(base, known, folder)
    home = folder / name
    python = home / "bin" / "python"
    stamp = home / _STAMP
    wanted = _digest(environment)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"oracles: building the environment {name}", file=sys.stderr)
    _run([_interpreter(environment), "-m", "venv", "--clear", str(home)])
    packages = next(home.glob("lib/python*/site-packages"))
    lines = [
        str(path)
        for base in environment.base
        for path in (folder / base).glob("lib/python*/site-packages")
    ]
    if lines:
        (packages / "base.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-deps"]
    if lines:  # what builds a package lies in the base
        command.append("--no-build-isolation")
    _run([*command, "--requirement", str(environment.requirements)])
    fetch(environment.files, home / "files")
    stamp.write_text(wanted, encoding="utf-8")
    return python


def fetch(files: Mapping[str, Mapping[str, str]], folder: Path) -> None:
    """Fetch files to a folder; raises NotBuilt where one is not what it was."""
    folder.mkdir(exist_ok=True)
    for name, file in files.items():
        try:
            with urlopen(file["url"], timeout=_FETCHING_SECONDS) as answer:  # noqa: S310 - https, of our list
                content: bytes = answer.read()
        except OSError as error:
            message = f"{name}: {error}"
            raise NotBuilt(message) from None
        if hashlib.sha256(content).hexdigest() != file["sha256"]:
            message = f"{name} is not what it was"
            raise NotBuilt(message)
        (folder / name).write_bytes(content)


def _digest(environment: Environment) -> str:
    text = environment.requirements.read_bytes()
    files = "".join(f" {file['sha256']}" for file in environment.files.values())
    bases = " ".join(environment.base)
    return f"{hashlib.sha256(text).hexdigest()} {bases}{files}\n"


def _interpreter(environment: Environment) -> str:
    """Return an interpreter of the version; raises NotBuilt where none starts."""
    if environment.python == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    beside = Path(sys.base_prefix).parent.glob(f"*{environment.python}*/bin/python3")
    candidates = [shutil.which(f"python{environment.python}"), *sorted(beside)]
    for candidate in filter(None, candidates):
        try:
            _run([str(candidate), "-c", ""])
        except NotBuilt:  # a name that stands for another version
            continue
        return str(candidate)
    message = f"no Python {environment.python}"
    raise NotBuilt(message)


def _run(command: list[str]) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuilt(str(error)) from None
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if "ERROR" in line]
        raise NotBuilt((lines or ended.stderr.splitlines() or ["pip failed"])[-1])
