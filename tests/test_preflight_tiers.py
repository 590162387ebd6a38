"""`speccheck preflight --tier N`: what is measured, within one budget."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nvml_stand_in import StandIn
from speccheck.validator.cli.main import main
from speccheck.validator.node.result import read_result
from torch_stand_in import torch_of_gpus, without_torch

COPIES = ("HW-005", "HW-150", "HW-151", "HW-152")
PRODUCTS = ("KERN-004", "KERN-030", "KERN-031", "KERN-032")
COLLECTIVES = ("COMM-010", "COMM-071", "COMM-072")


def judged(
    capsys: pytest.CaptureFixture[str], clauses: tuple[str, ...], *words: str
) -> tuple[int, dict[str, set[str]]]:
    """Return the exit code, and the outcomes of each of these clauses."""
    select = ["--select", ",".join(clauses), "--full"]
    code = main(["preflight", *select, *words, "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    found: dict[str, set[str]] = {}
    for finding in report["findings"]:
        found.setdefault(finding["clause"], set()).add(finding["outcome"])
    return code, found


def messages(capsys: pytest.CaptureFixture[str], clause: str, *words: str) -> list[str]:
    main(["preflight", "--select", clause, *words, "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    return [finding["message"] for finding in report["findings"]]


def snapshot(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.usefixtures("stand_in")
def test_tier_1_measures_copies_and_judges_them_with_the_machine(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    torch_of_gpus(tmp_path, monkeypatch)
    out, result = tmp_path / "n.json", tmp_path / "r.json"
    words = ("--tier", "1", "--out", str(out), "--result", str(result))
    code, found = judged(capsys, COPIES, *words)
    assert (code, found) == (0, {clause: {"pass"} for clause in COPIES})
    taken = snapshot(out)
    directions = [item["direction"] for item in taken["copy_tests"]]
    assert directions == [
        *("host_to_device", "device_to_host", "local"),
        "device_to_device",
    ]
    assert len(taken["gpus"]) == 8
    assert "copy_tests" not in taken["cut_short"]
    answer = read_result(result.read_text())
    assert (answer.tier, answer.verdict) == (1, "go")
    # The snapshot says the same again, anywhere.
    again = [str(out), "--profile", "preflight", "--select", ",".join(COPIES)]
    assert main(again) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_tier_0_measures_nothing_and_says_what_would_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    torch_of_gpus(tmp_path, monkeypatch)
    main(["preflight"])
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "not measured: --tier 1 (about 20 s more) judges HW-[005,150-152]; --tier 2 "
        "(about 130 s more) judges COMM-[010-013,070-076,080,090,093], "
        "KERN-[004,030-032]"
    ) in text
    main(["preflight", "--tier", "1"])
    text = " ".join(capsys.readouterr().out.split())
    assert "not measured: --tier 2 (about 130 s more) judges COMM-" in text
    # Who asks for some clauses alone is not told of others.
    main(["preflight", "--select", "memory_fault_pending"])
    assert "not measured" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_without_torch_what_was_asked_for_is_unknown_with_the_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    without_torch(tmp_path, monkeypatch)
    all_of_it = (*COPIES, *PRODUCTS, *COLLECTIVES)
    code, found = judged(capsys, all_of_it, "--tier", "2")
    assert (code, found) == (3, {clause: {"unknown"} for clause in all_of_it})
    (message,) = messages(capsys, "HW-150", "--tier", "1")
    assert "needs torch: pip install 'speccheck[bench]'" in message


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_without_gpus_that_torch_sees_nothing_passes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    torch_of_gpus(tmp_path, monkeypatch, gpus=0)
    code, found = judged(capsys, (*COPIES, *COLLECTIVES), "--tier", "2")
    assert code == 3
    assert set().union(*found.values()) == {"unknown"}
    (message,) = messages(capsys, "HW-150", "--tier", "1")
    assert "no GPU: PyTorch 2.9.0 sees none; look at nvidia-smi" in message
    assert "--device" not in message  # which preflight has not


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_gpus_that_are_hidden_are_not_taken_for_measured(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    torch_of_gpus(tmp_path, monkeypatch, gpus=3)
    out = tmp_path / "n.json"
    code, found = judged(capsys, COPIES, "--tier", "1", "--out", str(out))
    assert code == 3
    assert all("unknown" in outcomes for outcomes in found.values())
    taken = snapshot(out)
    assert taken["partly_listed"] == ["copy_tests"]
    assert taken["cut_short"]["copy_tests"] == (
        "speccheck bench memory: 3 of 8 GPUs were measured, the others are hidden: see "
        "CUDA_VISIBLE_DEVICES and the GPUs of the allocation"
    )


@pytest.mark.slow
def test_on_one_gpu_there_is_no_collective_to_miss(
    stand_in: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in.answers("system.count=1", without=("system.count",))
    torch_of_gpus(tmp_path, monkeypatch, gpus=1)
    out = tmp_path / "n.json"
    main(["preflight", "--tier", "2", "--out", str(out), "--select", "HW-150"])
    taken = snapshot(out)
    assert "collective_runs" not in {*taken, *taken["cut_short"]}
    assert isinstance(taken["copy_tests"], list)


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_a_measurement_that_hangs_costs_the_budget_and_itself(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is killed with what it started; what was measured before it stays."""
    torch_of_gpus(tmp_path, monkeypatch)
    hung = tmp_path / "hung"
    monkeypatch.setenv("TORCH_STAND_IN_HANGS", str(hung))
    out = tmp_path / "n.json"
    words = ("--tier", "2", "--budget", "9s", "--out", str(out))
    began = time.monotonic()
    code, found = judged(capsys, (*COPIES, *PRODUCTS, *COLLECTIVES), *words)
    assert time.monotonic() - began < 15
    assert code == 3
    assert found == {
        **{clause: {"pass"} for clause in COPIES},
        **{clause: {"unknown"} for clause in (*PRODUCTS, *COLLECTIVES)},
    }
    cut_short = snapshot(out)["cut_short"]
    assert cut_short["matrix_products"] == (
        "speccheck bench gemm: killed when the budget of 9 s was used up"
    )
    assert cut_short["collective_runs"] == (
        "speccheck bench all-reduce: not begun: the budget of 9 s was used up before"
    )
    assert all(_has_ended(int(item)) for item in hung.read_text().split())


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_ends_preflight_ends_its_measurement(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_of_gpus(tmp_path, monkeypatch)
    hung = tmp_path / "hung"
    monkeypatch.setenv("TORCH_STAND_IN_HANGS", str(hung))
    process = subprocess.Popen(
        (sys.executable, "-P", "-m", "speccheck", "preflight", "--tier", "2"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not hung.exists():
        assert process.poll() is None
    process.send_signal(number)
    assert process.wait(timeout=30) == (130 if number == signal.SIGINT else -number)
    measuring, of_it = map(int, hung.read_text().split())
    assert _has_ended(measuring)
    if not _has_ended(of_it, seconds=1):  # of our own stand-in, which nobody asked
        os.kill(of_it, signal.SIGKILL)


def _has_ended(process: int, seconds: float = 10) -> bool:
    """Return whether a process is gone, or a zombie that its parent has yet to bury."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state.split()[0] == "Z":
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({}, "there are no others: start it with srun, mpirun or torchrun"),
        (
            {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "SLURM_PROCID": "1"}
            | {"SLURM_STEP_ID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "7"},
            "tier 3 needs the rank of this process: RANK tells rank 0, SLURM_PROCID",
        ),
    ],
)
def test_tier_3_needs_the_ranks_of_an_engine(
    environ: dict[str, str],
    reason: str,
    stand_in: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in.answers("system.count=1", without=("system.count",))
    torch_of_gpus(tmp_path, monkeypatch, gpus=1)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "n.json"
    words = ["--select", "COMM-072", "--tier", "3", "--out", str(out)]
    assert main(["preflight", *words]) == 3
    assert reason in snapshot(out)["cut_short"]["collective_runs"]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--tier", "4"], "--tier 4: must be one of 0, 1, 2, 3"),
        (["--tier", "-1"], "--tier -1: must be one of 0, 1, 2, 3"),
        (["--tier", "one"], "--tier one: must be one of 0, 1, 2, 3"),
        (["--tier"], "--tier needs a value: --tier TIER"),
        (["--tier", "1", "--sysroot", "."], "--tier 1 measures this machine"),
    ],
)
def test_a_tier_that_cannot_be_is_one_line(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preflight", *words]) == 2
    result = capsys.readouterr()
    assert (result.out, result.err.count("\n")) == ("", 1)
    assert problem in result.err


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("host_copy_slow", "tier 1, about 20 s: speccheck bench memory copies"),
        ("product_wrong", "tier 2, about 70 s: speccheck bench gemm"),
        ("all_reduce_below_floor", "tier 2, about 60 s: speccheck bench all-reduce"),
        ("memory_fault_pending", "tier 0, a second or less: the probes read it"),
        ("ran_over_sockets", "not in preflight: a run with NCCL_DEBUG=INFO"),
        ("path_not_proven", "not in preflight: a run with NCCL_DEBUG=INFO"),
        ("write_bandwidth_low", "not in preflight: perftest between nodes"),
    ],
)
def test_a_rule_tells_its_tier_and_cost(
    rule: str, cost: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", rule]) == 0
    assert f"Cost in preflight\n    {cost}" in capsys.readouterr().out


def test_a_rule_of_files_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "ring_forced_at_scale"]) == 0
    assert "Cost in preflight" not in capsys.readouterr().out
