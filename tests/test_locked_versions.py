"""What develops and tests is held by hash, and lower bounds are what is tested."""

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
_PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
_LOCKED = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ]+)(?: ; [^\\]+)? \\")
_HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def _lines(name: str) -> list[str]:
    text = (ROOT / "requirements" / name).read_text("utf-8")
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]


def test_the_lock_is_names_versions_and_hashes() -> None:
    """No index and no host: where packages come from is the reader's choice."""
    text = (ROOT / "requirements" / "lock.txt").read_text("utf-8")
    assert "://" not in text
    for line in _lines("lock.txt"):
        assert _LOCKED.fullmatch(line) or _HASH.fullmatch(line), line


def test_the_lock_has_what_develops_builds_and_documents() -> None:
    locked = {
        match["name"]: match["version"]
        for match in map(_LOCKED.fullmatch, _lines("lock.txt"))
        if match
    }
    project = _PROJECT["project"]
    extras = project["optional-dependencies"]
    needed = [
        *_PROJECT["build-system"]["requires"],
        *project["dependencies"],
        *extras["dev"],
        *extras["docs"],
    ]
    for requirement in map(Requirement, needed):
        name = requirement.name.lower()
        assert name in locked, "run make lock"
        assert requirement.specifier.contains(locked[name]), f"{name}: run make lock"


def test_the_lowest_versions_are_the_lower_bounds() -> None:
    lowest = dict(line.split("==") for line in _lines("lowest.txt"))
    requirements = [Requirement(text) for text in _PROJECT["project"]["dependencies"]]
    assert list(lowest) == [requirement.name for requirement in requirements]
    for requirement in requirements:
        (bound,) = (
            part.version for part in requirement.specifier if part.operator == ">="
        )
        assert re.fullmatch(rf"{re.escape(bound)}(\.0)*", lowest[requirement.name])


def test_what_measures_is_within_its_range() -> None:
    tested = dict(line.split("==") for line in _lines("measuring.txt"))
    extras = _PROJECT["project"]["optional-dependencies"]
    requirements = [Requirement(text) for text in (*extras["bench"], *extras["plot"])]
    assert set(tested) == {requirement.name for requirement in requirements}
    for requirement in requirements:
        assert requirement.specifier.contains(tested[requirement.name])
