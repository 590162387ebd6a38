"""`speccheck evidence pack` and `list`: what they write, tell and answer."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import SCHEMAS
from speccheck.validator.cli.main import main

Output = pytest.CaptureFixture[str]
TYPE = "azure-nd96isr-h100-v5"
NOW = "2026-11-22T00:00:00Z"
LATER = "2026-12-24"


def simulate(out: Path, *words: str) -> Path:
    command = ("--evidence", "--profile", TYPE, "--nodes", "2", "--quiet")
    assert main(["simulate", *command, "--out", str(out), *words]) == 0
    return out


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    return simulate(tmp_path / "kit")


def pack(folder: Path, *words: str, now: str = NOW) -> int:
    profile = ("--profile", f"instance/{TYPE}")
    return main(["evidence", "pack", str(folder), *profile, "--now", now, *words])


def listed(folder: Path) -> int:
    return main(["evidence", "list", str(folder)])


def manifest(folder: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads((folder / "evidence.json").read_text("utf-8"))


def test_a_whole_kit_is_packed(kit: Path, capsys: Output) -> None:
    assert pack(kit) == 0
    document = manifest(kit)
    jsonschema.validate(document, SCHEMAS["evidence"]())
    assert document["created"] == NOW
    assert (document["instance_type"], document["provider"]) == (TYPE, "azure")
    assert not any(item["musts"] for item in document["missing"])
    kinds = [file["kind"] for file in document["files"]]
    assert {kind: kinds.count(kind) for kind in sorted({*kinds})} == {
        "config": 2,
        "drill": 1,
        "log": 4,
        "measurement": 8,
        "other": 2,
        "snapshot": 2,
    }
    assert all(file["synthetic"] == "speccheck simulate" for file in document["files"])
    text = capsys.readouterr().out
    assert "synthetic: 19 of 19 files, by speccheck simulate" in text
    assert "every must has evidence of its kind" in text


def test_packing_twice_writes_the_same(kit: Path) -> None:
    assert pack(kit) == 0
    first = (kit / "evidence.json").read_bytes()
    assert pack(kit) == 0
    assert (kit / "evidence.json").read_bytes() == first


def test_what_is_missing_is_told_by_track(kit: Path, capsys: Output) -> None:
    (kit / "logs" / "drill.jsonl").unlink()
    for name in ("all-reduce", "all-reduce-again"):
        (kit / "measured" / f"{name}.json").unlink()
    assert pack(kit) == 3
    missing = {
        (item["track"], item["text"]): item["musts"]
        for item in manifest(kit)["missing"]
        if item["musts"]
    }
    within = "no measured all-reduce on 2 or more nodes; there is one within a node"
    assert missing.keys() == {
        ("checkpoint-recovery", "no drill of recovery"),
    } | {key for key in missing if key[0] == "comm-topology"}
    assert missing["checkpoint-recovery", "no drill of recovery"] == ["FT-009"]
    text = capsys.readouterr().out
    assert "  checkpoint-recovery\n    L3 no drill of recovery: FT-009" in text
    # Other collectives settle some clauses; this one is of all-reduce alone.
    assert ("comm-topology", within) in missing
    assert "COMM-010" in missing["comm-topology", within]


@pytest.mark.parametrize(
    ("level", "code"), [("L1", 0), ("L2", 0), ("L3", 3)], ids=["L1", "L2", "L3"]
)
def test_a_lower_level_takes_less(kit: Path, level: str, code: int) -> None:
    for path in (kit / "measured").iterdir():
        path.unlink()
    assert pack(kit, "--level", level) == code
    assert manifest(kit)["level"] == level


def test_too_few_machines(kit: Path, capsys: Output) -> None:
    (kit / "nodes" / "node0002.json").unlink()
    assert pack(kit) == 3
    assert "snapshots of 1 machine; 2 speak for a type" in capsys.readouterr().out
    assert pack(kit, "--expect", "4") == 3
    assert "snapshots of 1 machine; 4 are expected" in capsys.readouterr().out


def test_old_evidence_is_named(kit: Path, capsys: Output) -> None:
    assert pack(kit, now=LATER) == 3
    assert "older than 30 days: logs/drill.jsonl (2026-" in capsys.readouterr().out


def test_machines_of_several_types(tmp_path: Path, capsys: Output) -> None:
    kit = simulate(tmp_path / "kit", "--spoil", "other_type")
    assert pack(kit) == 3
    text = capsys.readouterr().out
    assert f"machines of several types: {TYPE}, dgx-a100" in text
    assert "nodes/node0002.json: a machine of type dgx-a100, not of" in text


def test_a_credential_is_located_and_never_shown(kit: Path, capsys: Output) -> None:
    token = "hf_" + "abcdefghijkmnopqrstuvwxyzABCDEFGHJ"
    script = kit / "job" / "train.sbatch"
    script.write_text(f"{script.read_text()}export HF_TOKEN={token}\n")
    line = len(script.read_text().splitlines())
    assert pack(kit) == 3
    text = capsys.readouterr().out
    place = f"job/train.sbatch:{line}: holds a credential (Hugging Face token)"
    assert place in text
    assert token not in text
    assert token not in (kit / "evidence.json").read_text()


def test_nothing_is_written_of_a_damaged_kit(kit: Path, capsys: Output) -> None:
    path = kit / "nodes" / "node0001.json"
    path.write_text(path.read_text()[:5000])
    assert pack(kit) == 2
    assert not (kit / "evidence.json").exists()
    text = capsys.readouterr().out
    assert "\nnodes/node0001.json: " in text
    assert text.endswith("evidence.json: not written\n")


def test_list_holds_the_folder_to_its_manifest(kit: Path, capsys: Output) -> None:
    assert listed(kit) == 0
    assert "not packed yet" in capsys.readouterr().out
    assert pack(kit) == 0
    assert listed(kit) == 0
    assert "all files are those that evidence.json lists" in capsys.readouterr().out
    (kit / "job" / "config.yaml").write_text("speccheck: 1\n")
    (kit / "logs" / "run.jsonl").unlink()
    assert listed(kit) == 3
    text = capsys.readouterr().out
    assert "job/config.yaml: is not what was packed: sha256" in text
    assert "logs/run.jsonl: is listed in evidence.json and is not there" in text


def test_the_manifest_may_lie_elsewhere(kit: Path, tmp_path: Path) -> None:
    assert pack(kit, "--out", str(tmp_path / "list.json")) == 0
    assert not (kit / "evidence.json").exists()
    assert json.loads((tmp_path / "list.json").read_text())["files"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["pack"], "evidence pack takes one folder, not 0"),
        (["pack", "nowhere"], "nowhere: no such folder; name the folder"),
        (["sort", "kit"], "evidence sort: must be pack or list"),
        (["pack", "kit", "--level", "L9"], "--level L9: must be one of"),
        (["pack", "kit", "--profile", "L"], "--profile size/L: must be one type"),
        (["pack", "kit", "--now", "noon"], "--now noon: must be a time"),
        (["pack", "kit", "--out", "kit/list.json"], "--out kit/list.json: in the"),
        (["list", "kit", "--level", "L1"], "no option --level"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
    words: list[str],
    says: str,
) -> None:
    (tmp_path / "kit").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["evidence", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"speccheck: {says}")
    assert error.count("\n") == 1


def test_an_empty_folder_is_no_evidence(tmp_path: Path, capsys: Output) -> None:
    assert pack(tmp_path) == 3
    assert f"{tmp_path}: no file" in capsys.readouterr().out


def test_escapes_in_names_do_not_reach_the_terminal(kit: Path, capsys: Output) -> None:
    (kit / "a\x1b[31mb.txt").write_text("some words\n")
    assert pack(kit) == 0
    assert listed(kit) == 0
    assert "\x1b" not in capsys.readouterr().out
