"""Reports on a node: which part, what to do, and no lines of a file nobody wrote."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import schema_text
from speccheck.validator.cli.main import main
from speccheck.validator.report.wording import folded_subjects

HEALTHY = {
    "name": "NVIDIA H100 80GB HBM3",
    "remap_is_pending": False,
    "remap_has_failed": False,
    "ecc_uncorrected_volatile": 0,
}


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """Return eight GPUs: two with a row to remap, an errant one, a silent one."""
    gpus: list[dict[str, Any]] = [dict(HEALTHY) for _ in range(8)]
    gpus[3]["remap_is_pending"] = gpus[4]["remap_is_pending"] = True
    gpus[6]["ecc_uncorrected_volatile"] = 3
    gpus[7]["remap_is_pending"] = {"status": "not_permitted", "code": "4"}
    path = tmp_path / "node.json"
    content = {"schema": "speccheck-snapshot/1", "taken": "", "gpus": gpus}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_text_names_the_parts_once_and_what_to_do(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(snapshot)]) == 1
    text = capsys.readouterr().out
    assert "snapshot: 8 \u00d7 h100-sxm5-80gb\n" in text
    assert text.count("error HW-002 memory_fault_pending  GPU 3-4\n") == 1
    assert "error HW-002 memory_fault_pending  GPU 6\n" in text
    assert "gpus[3].remap_is_pending, gpus[4].remap_is_pending" in " ".join(
        text.split()
    )
    assert "  do    RESET_GPU\n" in text
    assert "nvidia-smi --gpu-reset -i 3,4" in text
    assert "nvidia-smi --gpu-reset -i 6" in text
    assert " | " not in text, "no frames"


def test_the_json_gives_each_part_its_finding(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(snapshot), "--output", "json", "--full"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(schema_text("report")))
    found = [
        (finding["subject"], finding["outcome"], finding["action"])
        for finding in document["findings"]
        if finding["rule"] == "memory_fault_pending"
    ]
    assert found == [
        ("GPU 0", "pass", None),
        ("GPU 1", "pass", None),
        ("GPU 2", "pass", None),
        ("GPU 3", "fail", "RESET_GPU"),
        ("GPU 4", "fail", "RESET_GPU"),
        ("GPU 5", "pass", None),
        ("GPU 6", "fail", "RESET_GPU"),
        ("GPU 7", "unknown", None),
    ]


def test_gpus_that_could_not_be_listed_pass_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.json"
    lost = {"status": "absent", "source": "nvmlInitWithFlags", "message": "not found"}
    content = {"schema": "speccheck-snapshot/1", "taken": "", "gpus": lost}
    path.write_text(json.dumps(content), encoding="utf-8")
    code = main([str(path), "--gpu", "H100-80GB", "--output", "json", "--full"])
    assert code == 3
    (found,) = (
        finding
        for finding in json.loads(capsys.readouterr().out)["findings"]
        if finding["rule"] == "memory_fault_pending"
    )
    assert (found["outcome"], found["missing"]) == ("unknown", ["gpus"])
    assert "absent: nvmlInitWithFlags: not found" in found["message"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"schema": "speccheck-snapshot/2"}, "a snapshot of version 2"),
        ({"schema": "speccheck-snapshot/new"}, "schema is speccheck-snapshot/new"),
        ({"schema": "speccheck-snapshot/1", "gpus": 8}, "damaged snapshot: gpus"),
        ({"schema": "speccheck-snapshot/1", "gpus": [8]}, "damaged snapshot: gpus"),
        ({"schema": "speccheck-snapshot/1", "host": []}, "damaged snapshot: host"),
    ],
)
def test_a_foreign_or_damaged_snapshot_is_refused(
    content: dict[str, Any],
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert main([str(path)]) == 2
    result = capsys.readouterr()
    assert says in " ".join(f"{result.err} {result.out}".split())


@pytest.mark.parametrize(
    ("subjects", "folded"),
    [
        (["GPU 0", "GPU 1", "GPU 2", "GPU 6"], "GPU 0-2, 6"),
        (["GPU 5", "GPU 3", "GPU 5"], "GPU 3, 5"),
        (["node"], "node"),
        (["mlx5_0 port 1", "mlx5_1 port 1"], "mlx5_0 port 1; mlx5_1 port 1"),
        (["0000:1b:00.0", "eth0"], "0000:1b:00.0; eth0"),
    ],
)
def test_names_are_folded(subjects: list[str], folded: str) -> None:
    assert folded_subjects(subjects) == folded


def _faulty(tmp_path: Path, **changes: dict[int, dict[str, Any]]) -> Path:
    """Return a folder of snapshots: healthy GPUs but for some leaves of some."""
    for name, by_gpu in changes.items():
        gpus = [{**HEALTHY, **by_gpu.get(number, {})} for number in range(8)]
        content = {"schema": "speccheck-snapshot/1", "taken": "", "gpus": gpus}
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def test_the_report_says_first_what_to_do_to_which_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {
        2: {"remap_has_failed": True},
        5: {"remap_is_pending": True},
        6: {"remap_is_pending": True},
    }
    folder = _faulty(tmp_path, node=changes)
    words = ["--select", "memory_fault_pending"]
    assert main([str(folder / "node.json"), *words]) == 1
    blocks = capsys.readouterr().out.split("\n\n")
    assert blocks[0].startswith("no-go: 3 errors · 1 of 1 required checks could run ")
    assert blocks[1].splitlines() == [
        "  ISOLATE     GPU 2: memory_fault_pending",
        "  RESET_GPU   GPU 5-6: memory_fault_pending",
    ]
    assert blocks[2] == "\u2500\u2500 GPUs: 3 errors \u2500\u2500"


def test_of_many_machines_it_names_these(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {3: {"remap_is_pending": True}}
    folder = _faulty(tmp_path, one=broken, two={}, three=broken)
    assert main([str(folder), "--select", "memory_fault_pending"]) == 1
    text = capsys.readouterr().out
    assert "  RESET_GPU   one.json, three.json: memory_fault_pending\n" in text
    for name in ("one", "three"):
        assert f"{name}.json gpus[3].remap_is_pending" in " ".join(text.split())


def test_one_line_a_finding_names_the_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _faulty(tmp_path, node={3: {"remap_is_pending": True}})
    path = str(folder / "node.json")
    main([path, "--select", "memory_fault_pending", "--output", "concise"])
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        f"{path}: GPU 3: error HW-002 memory_fault_pending: "
        "a memory row waits to be remapped"
    )


def test_the_header_names_the_type_that_somebody_named(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(snapshot), "--instance", "dgx-h100"]) == 1
    assert "snapshot: as dgx-h100\n" in capsys.readouterr().out


def test_what_holds_is_told_once_for_all_parts(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(snapshot), "--full"])
    text = capsys.readouterr().out
    assert text.count("passed HW-002 memory_fault_pending  GPU 0-2, 5") == 1
    assert "  --instance   " in text
