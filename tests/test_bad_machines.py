"""Machines that cannot be read, and snapshots that are none: what the command says."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from machine_files import build, healthy
from nvml_stand_in import StandIn, without_library
from slow_cases import few_rows
from speccheck.validator.cli.main import main
from speccheck.validator.simulation.healthy import healthy_node

NEEDS_GPUS = (
    ("--instance", "azure-nd96isr-h100-v5"),
    ("--gpu", "H100-80GB"),
    ("--profile", "preflight"),
    (),
)


def judged(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, list[str]]]:
    """Return the exit code, and what each rule says of the parts of the machine."""
    code = main([*words, "--output", "json", "--full"])
    result = json.loads(capsys.readouterr().out)
    said: dict[str, list[str]] = {}
    for finding in result["findings"]:
        said.setdefault(finding["rule"], []).append(finding["outcome"])
    return code, said


@pytest.mark.parametrize("words", NEEDS_GPUS, ids=str)
def test_a_machine_without_gpus_is_inconclusive_where_some_are_needed(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though its network and its host are judged."""
    root, out = tmp_path / "root", str(tmp_path / "node.json")
    build(root, *healthy())
    assert main(["probe", "--sysroot", str(root), "--out", out]) == 0
    code, said = judged(capsys, out, "--ignore", "FAB,HW-081", *words)
    assert code == 3
    assert said["memory_fault_pending"] == ["unknown"]
    assert set(said["process_limits_low"]) == {"pass"}
    assert main([out, "--ignore", "FAB,HW-081", *words]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert "GPUs not listed" in text
    assert "inconclusive: the GPUs of the machine could not be listed" in text
    assert "gpus (absent: NVML: a copy of the files has no GPUs" in text


@pytest.mark.parametrize(
    ("code", "reason"),
    few_rows(
        1,
        [
            (9, "absent: nvmlInitWithFlags: Driver Not Loaded"),
            (
                18,
                (
                    "failed: nvmlInitWithFlags: "
                    "RM has detected an NVML/RM version mismatch."
                ),
            ),
            (4, "not permitted: nvmlInitWithFlags: Insufficient Permissions"),
        ],
    ),
)
def test_a_driver_that_does_not_answer(
    code: int, reason: str, stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answers(f"system.init={code}")
    words = ("preflight", "--select", "HW-002,HW-080,process_limits_low")
    assert main([*words]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert f"gpus ({reason}): hardware (1)" in text
    _, said = judged(capsys, *words)
    assert said["memory_fault_pending"] == ["unknown"]
    assert set(said["process_limits_low"]) <= {"pass", "fail"}, "the host is judged"


def test_no_management_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_library(monkeypatch, tmp_path)
    code, said = judged(capsys, "preflight", "--select", "HW-002,process_limits_low")
    assert code == 3
    assert said["memory_fault_pending"] == ["unknown"]
    assert set(said["process_limits_low"]) <= {"pass", "fail"}


def test_probe_and_judge_in_one_line(
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`speccheck probe | speccheck -`."""
    stand_in.answers("gpu.2.remap_pending=1")
    assert main(["probe"]) == 0
    taken = capsys.readouterr().out
    stream = io.TextIOWrapper(io.BytesIO(taken.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    code, said = judged(capsys, "-", "--select", "memory_fault_pending")
    assert code == 1
    expected = ["pass", "pass", "fail", *["pass"] * 5]
    assert said == {"memory_fault_pending": expected}


HEALTHY = healthy_node("dgx-h100")


def _changed(**top: object) -> str:
    return json.dumps({**HEALTHY, **top})


REFUSED: dict[str, tuple[str, int, str]] = {
    "newer": (
        _changed(schema="speccheck-snapshot/2"),
        2,
        "a snapshot of version 2; this speccheck reads up to 1; judge it with a newer",
    ),
    "truncated": (json.dumps(HEALTHY)[:4000], 2, "not JSON"),
    "cut at the end": (json.dumps(HEALTHY)[:-1], 2, "not JSON"),
    "empty": ("", 2, "nothing in it"),
    "of another program": (_changed(schema="node-report/1"), 3, "not a training"),
    "without its schema": ('{"gpus": [{}]}', 3, "not a training"),
    "a list": (f"[{json.dumps(HEALTHY)}]", 3, "not a training"),
    "a part that is none": (_changed(host=7), 2, "damaged snapshot: host"),
    "a list of none": (_changed(gpus=[7]), 2, "damaged snapshot: gpus"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_snapshot_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, code, says = REFUSED[name]
    path = tmp_path / "node.json"
    path.write_text(text, encoding="utf-8")
    assert main([str(path)]) == code
    assert says in " ".join(capsys.readouterr().out.split())


def test_a_snapshot_of_an_older_version_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lacks leaves of today, and has some that nobody knows any more."""
    older: dict[str, Any] = json.loads(_changed(schema="speccheck-snapshot/0"))
    older["batteries"] = [{"name": "left"}]
    for gpu in older["gpus"]:
        gpu["colour"] = "green"
        del gpu["remap_has_failed"]
    path = tmp_path / "node.json"
    path.write_text(json.dumps(older), encoding="utf-8")
    _, said = judged(capsys, str(path), "--select", "HW-002,HW-025")
    assert said["memory_fault_pending"] == ["unknown"] * 8
    assert "error" not in {outcome for each in said.values() for outcome in each}
    older["gpus"][3]["remap_is_pending"] = True
    path.write_text(json.dumps(older), encoding="utf-8")
    code, said = judged(capsys, str(path), "--select", "memory_fault_pending")
    assert (code, said["memory_fault_pending"][3]) == (1, "fail")


def test_absurd_values_are_no_evidence_and_the_rest_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absurd: dict[str, Any] = json.loads(json.dumps(HEALTHY))
    absurd["gpus"][0]["remap_is_pending"] = "perhaps"
    absurd["gpus"][1]["remap_is_pending"] = {"status": "of the moon"}
    absurd["gpus"][2]["ecc_uncorrected_volatile"] = [1, 2]
    absurd["gpus"][3]["ecc_uncorrected_volatile"] = 10**30
    absurd["host"]["memory_total_bytes"] = 1e308
    path = tmp_path / "node.json"
    path.write_text(json.dumps(absurd), encoding="utf-8")
    code, said = judged(capsys, str(path), "--select", "memory_fault_pending")
    expected = ["unknown", "unknown", "unknown", "fail", *["pass"] * 4]
    assert (code, said["memory_fault_pending"]) == (1, expected)
    code, said = judged(capsys, str(path))
    assert "error" not in {outcome for each in said.values() for outcome in each}
