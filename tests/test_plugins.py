"""Readers and rules of installed packages, by entry points."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[1]
EXAMPLE = PROJECT / "tests" / "example_plugin"
TOY = "toy_trainer:\n  nodes: 2\n  gpus: 8\n  tensor_parallel: 3\n  keep: 0\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of packages that holds the example, as an installer leaves it."""
    folder = tmp_path / "packages"
    shutil.copytree(EXAMPLE / "speccheck_example", folder / "speccheck_example")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
    write_metadata(folder, project["project"]["entry-points"])
    return folder


def write_metadata(folder: Path, groups: dict[str, dict[str, str]]) -> None:
    information = folder / "speccheck_example-1.0.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: speccheck-example\nVersion: 1.0\n",
        encoding="utf-8",
    )
    lines: list[str] = []
    for group, points in groups.items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {value}" for name, value in points.items()]
    (information / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def speccheck(
    folder: Path, text: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Judge a text with the packages of a folder in sight."""
    path = folder.parent / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    places = [str(folder), str(PROJECT / ".imports")]
    return subprocess.run(
        [sys.executable, "-m", "speccheck", str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )


def failed(report: dict[str, Any]) -> set[tuple[str, str, int]]:
    return {
        (one["rule"], one["clause"], one["places"][0]["line"])
        for one in report["findings"]
        if one["outcome"] == "fail"
    }


def test_a_reader_and_a_rule_of_a_package_are_used_when_asked_for(
    installed: Path,
) -> None:
    found = speccheck(installed, TOY, "--plugins", "--output", "json")
    report = json.loads(found.stdout)
    assert report["files"][0]["format"] == "toy-trainer"
    assert report["plans"][0]["world_size"] == 16
    assert ("tensor_parallel_odd", "MEM-003", 4) in failed(report)
    assert found.returncode == 1


def test_nothing_of_a_package_is_used_unasked(installed: Path) -> None:
    found = speccheck(installed, TOY)
    assert "not a training configuration that speccheck knows" in found.stdout
    assert found.returncode == 3


def test_rules_of_a_package_are_selected_like_others(installed: Path) -> None:
    found = speccheck(
        installed, TOY, "--plugins", "--select", "tensor_parallel_odd", "--output=json"
    )
    assert failed(json.loads(found.stdout)) == {("tensor_parallel_odd", "MEM-003", 4)}


@pytest.mark.parametrize(
    ("group", "value", "says"),
    [
        ("speccheck.sources", "speccheck_example.nothing", "does not load"),
        ("speccheck.sources", "speccheck_example", "holds no READER"),
        ("speccheck.rules", "speccheck_example.toy_trainer", "is no package"),
    ],
)
def test_a_broken_package_is_named(
    installed: Path, group: str, value: str, says: str
) -> None:
    write_metadata(installed, {group: {"broken": value}})
    found = speccheck(installed, TOY, "--plugins")
    assert found.returncode == 2
    assert f"plugin broken ({group} = {value}) {says}" in found.stderr
    assert "Traceback" not in found.stderr
