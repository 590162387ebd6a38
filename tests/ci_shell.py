"""Runs the steps of CI definitions as the services do: in a shell, with variables."""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

_GIT, _TAR = shutil.which("git") or "git", shutil.which("tar") or "tar"
ROOT = Path(__file__).resolve().parents[1]
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_INPUT = re.compile(r"\$\[\[\s*inputs\.([\w-]+)\s*\]\]")


def offline_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which pip builds and installs without a network.

    What the project needs to be built and to run is that of the running interpreter.
    """
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # the variable takes the flag's opposite
        "PIP_IGNORE_INSTALLED": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONSAFEPATH": "1",
        **extra,
    }


def working_tree(folder: Path) -> Path:
    """Return a copy of the project's files as now, as a repository of one commit."""
    listed = subprocess.run(
        [_GIT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    archive = subprocess.run(
        [_TAR, "-c", "--null", "-T", "-", "--ignore-failed-read"],
        cwd=ROOT,
        input=listed.encode(),
        capture_output=True,
        check=True,
    ).stdout
    folder.mkdir(parents=True)
    subprocess.run([_TAR, "-x"], cwd=folder, input=archive, check=True)
    commit_all(folder)
    return folder


def git(folder: Path, *words: str) -> str:
    """Run git as nobody in particular."""
    settings = ("user.name=t", "user.email=t@example.org", "commit.gpgsign=false")
    named = [word for setting in settings for word in ("-c", setting)]
    done = subprocess.run(
        [_GIT, *named, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit_all(folder: Path) -> str:
    """Make a folder a repository, or add to it; returns the commit."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--no-verify", "-m", "all")
    return git(folder, "rev-parse", "HEAD")


def expression_values(text: str, known: Mapping[str, str]) -> str:
    """Return a value of a GitHub workflow with its expressions worked out."""
    return _EXPRESSION.sub(lambda found: known[found[1]], text)


def input_values(text: str, inputs: Mapping[str, str]) -> str:
    """Return a value of a GitLab component with its inputs filled in."""
    return _INPUT.sub(lambda found: inputs[found[1]], text)


def run_shell(
    script: str, folder: Path, environment: Mapping[str, str], shell: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run a script as a step of CI."""
    path = folder.parent / "step.sh"
    path.write_text(script, "utf-8")
    return subprocess.run(
        [*shell, str(path)],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
