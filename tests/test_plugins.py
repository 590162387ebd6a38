"""Readers and rules of installed packages, by entry points."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from example_package import FOLDER, NAME, entry_points, write_metadata

PROJECT = Path(__file__).resolve().parents[1]
TOY = (FOLDER / "toy.yaml").read_text("utf-8")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder of packages that holds the example, as an installer leaves it."""
    folder = tmp_path / "packages"
    shutil.copytree(FOLDER / NAME, folder / NAME)
    write_metadata(folder, entry_points())
    return folder


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
        (finding["rule"], finding["clause"], finding["places"][0]["line"])
        for finding in report["findings"]
        if finding["outcome"] == "fail"
    }


def test_a_reader_and_a_rule_of_a_package_are_used_when_asked_for(
    installed: Path,
) -> None:
    found = speccheck(installed, TOY, "--plugins", "--output", "json")
    report = json.loads(found.stdout)
    assert report["files"][0]["format"] == "toy-trainer"
    assert report["plans"][0]["world_size"] == 16
    assert ("tensor_group_leaves_node", "TOPO-001", 4) in failed(report)
    assert found.returncode == 1


def test_nothing_of_a_package_is_used_unasked(installed: Path) -> None:
    found = speccheck(installed, TOY)
    said = " ".join(found.stdout.split())
    assert "not a training configuration that speccheck knows" in said
    assert found.returncode == 3


def test_rules_of_a_package_are_selected_like_others(installed: Path) -> None:
    found = speccheck(
        installed,
        TOY,
        "--plugins",
        "--select",
        "tensor_group_leaves_node",
        "--output=json",
    )
    assert failed(json.loads(found.stdout)) == {
        ("tensor_group_leaves_node", "TOPO-001", 4)
    }


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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["list", "rules", "tensor_group"], "tensor_group_leaves_node"),
        (["list", "formats", "toy"], "toy-trainer"),
        (["explain", "tensor_group_leaves_node"], "tensor_group_leaves_node: "),
    ],
)
def test_rules_and_readers_of_a_package_are_listed_and_explained(
    installed: Path, words: list[str], says: str
) -> None:
    def ended(*more: str) -> subprocess.CompletedProcess[str]:
        places = [str(installed), str(PROJECT / ".imports")]
        return subprocess.run(
            [sys.executable, "-m", "speccheck", *words, *more],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        )

    assert says in ended("--plugins").stdout
    assert says not in ended().stdout
