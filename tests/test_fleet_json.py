"""`speccheck-fleet/1`: every report on a fleet holds to its schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fleet_trials import kept, lines, nodes, result, running
from json_schemas import SCHEMAS

PROMISED = Path(__file__).parent / "data" / "fleet-1-fields.json"
Capture = pytest.CaptureFixture[str]


def holds(document: dict[str, Any]) -> None:
    """Assert that the document is of its schema, without a field outside it."""
    schema = SCHEMAS["fleet"]()
    jsonschema.Draft202012Validator(schema).validate(document)


def broken(folder: Path) -> Path:
    """Return a fleet with something in every part of its report."""
    fleet = nodes(8)
    fleet["node0002"]["gpus"][1]["remap_has_failed"] = True
    fleet["node0003"]["driver"]["version"] = "570.124.06"
    fleet["other"] = json.loads(json.dumps(fleet["node0004"]))
    fleet["other"]["launch"]["node"] = "other"
    fleet["node0009"] = {"schema": "speccheck-snapshot/1"}
    del fleet["node0008"]
    kept(folder, fleet)
    (folder / "node0005.json").write_text("", "utf-8")
    said = {"node0006": result("node0006", "usage"), "n9": result("n9", "bug")}
    lines(folder / "results.jsonl", said)
    return folder


def test_a_fleet_that_is_well(tmp_path: Path, capsys: Capture) -> None:
    folder = kept(tmp_path / "fleet", nodes(4))
    ended = running(capsys, folder, "--output", "json")
    holds(ended.data)
    assert (ended.data["verdict"], ended.data["exit_code"]) == ("go", ended.code)
    assert ended.data["findings"] == ended.data["unfit"] == []


def test_a_fleet_with_every_kind_of_fault(tmp_path: Path, capsys: Capture) -> None:
    ended = running(capsys, broken(tmp_path / "fleet"), "--output", "json")
    holds(ended.data)
    states = {item["node"]: item["state"] for item in ended.data["unfit"]}
    assert states.items() >= {
        ("node0002", "no-go"),
        ("node0005", "unread"),
        ("node0006", "usage"),
        ("node0008", "missing"),
        ("n9", "bug"),
    }
    result = ended.data["nodes"]
    assert (
        result["fit"] + len([item for item in states if item not in _absent(result)])
        == (result["reported"])
    )


def _absent(result: dict[str, Any]) -> set[str]:
    return {*result["missing"], *(item["node"] for item in result["unread"])}


def test_two_days_of_a_fleet(tmp_path: Path, capsys: Capture) -> None:
    before = kept(tmp_path / "before", nodes(8))
    now = broken(tmp_path / "now")
    ended = running(capsys, now, "--diff", before, "--output", "json")
    holds(ended.data)
    assert ended.data["since"]["went"] == ["node0005", "node0008"]
    assert "other" in ended.data["since"]["came"]


def test_no_report_at_all(tmp_path: Path, capsys: Capture) -> None:
    ended = running(capsys, tmp_path, "--output", "json")
    holds(ended.data)
    assert ended.code == 3


def test_a_fault_of_the_job_says_so(tmp_path: Path, capsys: Capture) -> None:
    job = tmp_path / "job.sbatch"
    job.write_text(
        "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n"
        "srun torchrun --nnodes=4 --nproc-per-node=8 --max-restarts=0 train.py\n"
    )
    folder = kept(tmp_path / "fleet", nodes(4))
    ended = running(capsys, folder, "--job", job, "--output", "json")
    holds(ended.data)
    of_job = {finding["rule"]: finding["of_job"] for finding in ended.data["findings"]}
    assert all(of_job.values()) or not of_job


def fields() -> dict[str, list[str]]:
    """Return the fields of each part that the schema has."""
    schema = SCHEMAS["fleet"]()
    parts = {"FleetDocument": schema, **schema["$defs"]}
    return {name: sorted(part.get("properties", {})) for name, part in parts.items()}


def test_no_promised_field_went_away() -> None:
    promised = json.loads(PROMISED.read_text("utf-8"))
    now = fields()
    for part, names in promised.items():
        assert {*names} <= {*now.get(part, [])}, part
    assert promised == now, "promise the new ones too"
