"""`speccheck simulate --results`: the lines that nodes would have told."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import SCHEMAS
from speccheck.validator.cli.main import main
from speccheck.validator.node.result import MOST_BYTES, read_result

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "fixtures" / "examples" / "simulated-fleet" / "plan.yaml"


def simulate(*words: object) -> int:
    return main(["simulate", *map(str, words), "--results", "--quiet"])


def plan(folder: Path, *faults: str) -> Path:
    path = folder / "plan.yaml"
    rows = "".join(f"  - {{{fault}}}\n" for fault in faults)
    path.write_text(f"schema: speccheck-faults/1\nfaults:\n{rows}", "utf-8")
    return path


def test_each_node_tells_its_verdict(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    assert simulate("--nodes", 60, "--out", out, "--faults", EXAMPLE) == 0
    lines = out.read_text("utf-8").splitlines(keepends=True)
    assert max(len(line.encode()) for line in lines) <= MOST_BYTES
    found = {item.node: item for item in map(read_result, lines)}
    assert len(found) == 60
    ill = {name: item for name, item in found.items() if item.verdict != "go"}
    assert {name: [f.rule for f in item.findings] for name, item in ill.items()} == {
        "node0003": ["bootstrap_interface_unusable"],
        "node0017": ["gpu_link_below_slot"],
        "node0040": ["bootstrap_interface_unusable", "xid_recorded"],
        "node0041": ["bootstrap_interface_unusable"],
    }
    assert all(item.verdict == "no-go" for item in ill.values())
    assert found["node0052"].facts["driver.version"] == "570.124.06"
    assert found["node0001"].facts["driver.version"] == "570.133.20"
    assert found["node0003"].counts["fail"] == found["node0001"].counts["fail"] + 1


def test_a_line_says_that_it_is_made_up(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    simulate("--nodes", 2, "--out", out)
    schema = jsonschema.Draft202012Validator(SCHEMAS["node-result"]())
    for line in out.read_text("utf-8").splitlines():
        content: dict[str, Any] = json.loads(line)
        schema.validate(content)
        made = {"by": "speccheck simulate", "seed": 1, "profile": "dgx-h100", "day": 1}
        assert content["synthetic"] == made
        assert read_result(line).synthetic == made


def test_what_goes_wrong_with_lines(tmp_path: Path) -> None:
    names = ("missing", "damaged", "empty", "twice", "killed_rank", "newer_version")
    rows = [f"fault: {name}, nodes: [{n}]" for n, name in enumerate(names, 1)]
    out = tmp_path / "results"
    faults = plan(tmp_path, *rows)
    assert simulate("--nodes", 7, "--out", out, "--faults", faults) == 0
    assert sorted(item.name for item in out.iterdir()) == [
        ".node0005.result.json.4242.part",
        "node0002.result.json",
        "node0003.result.json",
        "node0004-again.result.json",
        "node0004.result.json",
        "node0006.result.json",
        "node0007.result.json",
        "simulation.json",
    ]
    later = json.loads((out / "node0006.result.json").read_text("utf-8"))
    assert later["schema"] == "speccheck-node-result/2"
    assert simulate("--nodes", 1, "--out", out) == 0  # all of it is ours
    assert sorted(item.name for item in out.iterdir()) == [
        *("node0001.result.json", "simulation.json")
    ]


@pytest.mark.slow
def test_the_fleet_reads_them(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    simulate("--nodes", 60, "--out", out, "--faults", EXAMPLE)
    ended = subprocess.run(
        [sys.executable, "-m", "speccheck", "fleet", out],
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "node[0003,0040-0041]" in ended.stdout
    assert "synthetic: 60 nodes" in ended.stdout


def test_a_made_up_fleet_grows_no_older(tmp_path: Path) -> None:
    """Its day is a fixed one; what is older than the rest of it is out of date."""
    words = ["--nodes", "12", "--quiet", "--out", str(tmp_path / "fleet")]
    faults = plan(tmp_path, "fault: stale, nodes: [5]")
    assert main(["simulate", *words, "--faults", str(faults)]) == 0
    ended = subprocess.run(
        [*(sys.executable, "-m", "speccheck", "fleet", tmp_path / "fleet"), "--full"],
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
    )
    before, _, after = ended.stdout.partition("report_out_of_date  on 1 node\n")
    assert "report_out_of_date" not in before
    result = " ".join(after.split())
    assert result.startswith("taken up to 49.0 hours ago; a report may be 24 hours old")
    assert " node0005 " in result.partition(" fix ")[0] + " "
