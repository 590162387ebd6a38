"""The published schema of snapshots holds what probes write and what rules judge."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from nvml_stand_in import StandIn
from speccheck.probes.collect import SCHEMA, snapshot
from speccheck.validator.evidence.node.node import KINDS, SPECIMENS

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures" / "rules"


def validator() -> jsonschema.Draft202012Validator:
    text = (ROOT / "schemas" / "json" / "snapshot.schema.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def problems(content: dict[str, Any]) -> list[str]:
    return [
        f"{item.json_path}: {item.message}" for item in validator().iter_errors(content)
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("gpu.3.lost_after=0", "gpu.4.lost_after=25", "gpu.5.nvlink.2.active=0"),
        ("gpu.2.nvmlDeviceGetPowerUsage.crash=1",),
        ("system.init=9",),
    ],
)
def test_what_probes_write_validates(stand_in: StandIn, lines: tuple[str, ...]) -> None:
    stand_in.answers(*lines)
    assert problems(snapshot()) == []


def _files_in(text: str) -> dict[str, Any]:
    files: dict[str, Any] = yaml.load(text, yaml.CSafeLoader).get("files", {})
    return files


def snapshots_of_fixtures() -> Iterator[tuple[str, Any]]:
    for path in sorted(FIXTURES.glob("*/*.yaml")):
        text = path.read_text(encoding="utf-8")
        if SCHEMA in text:
            for name, content in _files_in(text).items():
                if isinstance(content, str) and SCHEMA in content:
                    yield f"{path.relative_to(FIXTURES)} {name}", json.loads(content)


def test_snapshots_of_fixtures_have_no_leaf_that_is_unknown() -> None:
    """Some of them hold values of a wrong type on purpose, and none a wrong name."""
    found = dict(snapshots_of_fixtures())
    assert found
    wrong = [
        f"{title}: {kind}.{leaf}"
        for title, content in found.items()
        for kind, part in KINDS.items()
        for item in parts_of(content.get(kind))
        for leaf in item
        if leaf not in part.__annotations__
    ]
    assert wrong == []


def parts_of(found: object) -> list[dict[str, Any]]:
    if isinstance(found, dict):
        return [] if "status" in found else [found]
    return found if isinstance(found, list) else []


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"schema": "speccheck-snapshot/2"}, "$.schema"),
        ({"gpus": [{"power_limit_leastwatts": 1.0}]}, "$.gpus"),
        ({"gpus": [{"name": 3}]}, "$.gpus"),
        ({"gpus": [{"nvlink_is_active": [1]}]}, "$.gpus"),
        ({"gpus": {"status": "odd"}}, "$.gpus"),
        ({"host": {"name": {"status": "absent", "why": "x"}}}, "$.host.name"),
        ({"hosts": {}}, "$"),
        ({"partly_listed": ["hosts"]}, "$.partly_listed[0]"),
    ],
)
def test_a_wrong_snapshot_does_not_validate(change: dict[str, Any], at: str) -> None:
    (problem,) = problems({"schema": SCHEMA, **change})
    assert problem.startswith(f"{at}: ")


def test_a_snapshot_may_leave_out_what_it_does_not_know() -> None:
    leaves = {"nvlink_version": [6, None, {"status": "failed"}], "power_watts": 70}
    assert problems({"schema": SCHEMA, "gpus": [leaves, {}]}) == []


def test_every_specimen_is_a_leaf() -> None:
    named = {f"{kind}.{leaf}" for kind in KINDS for leaf in KINDS[kind].__annotations__}
    assert named >= SPECIMENS


def test_leaves_are_described_by_their_comments() -> None:
    schema: Any = validator().schema
    gpu = schema["properties"]["gpus"]["anyOf"][0]["items"]["properties"]
    assert gpu["recovery_action"]["description"].startswith("0 none, 1 reset, 2 reboot")
    assert gpu["serial"]["description"] == "a digest unless it was to be kept"
    assert "description" not in gpu["name"]  # a heading stands above it
