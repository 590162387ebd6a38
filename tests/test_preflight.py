"""`speccheck preflight`: this machine and the files of a job, in one report."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import schema_text
from machine_files import build, healthy
from nvml_stand_in import ROOT, StandIn, without_library
from slow_cases import few_rows
from speccheck.validator.cli.main import main

SCRIPT = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32\n"
INTERFACE = "NCCL_SOCKET_IFNAME"
ONE_RULE = ("--select", "fewer_gpus_present_than_asked")


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Return a launch script that starts eight processes."""
    path = tmp_path / "job.sh"
    path.write_text(SCRIPT, encoding="utf-8")
    return str(path)


@pytest.fixture
def sysroot(tmp_path: Path) -> str:
    """Return the files of a machine with two GPUs that nobody can ask."""
    return str(build(tmp_path / "root", *healthy()))


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return the JSON report of a preflight."""
    code = main(["preflight", *words, "--output", "json", "--full"])
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(result, json.loads(schema_text("report")))
    assert result["exit_code"] == code
    return result


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    """Return what each rule says; of one that speaks of several parts, the last."""
    return {
        finding["rule"]: finding["outcome"]
        for finding in result["findings"]
        if finding["rule"]
    }


@pytest.mark.usefixtures("stand_in")
def test_machine_and_files_are_judged_in_one_report(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = report(capsys, script, *ONE_RULE)
    assert outcomes(result) == {"fewer_gpus_present_than_asked": "pass"}
    assert result["profile"] == {"use": "preflight"}
    assert [file["path"] for file in result["files"]] == ["this node", script]
    assert result["plans"][0]["grouping"] == ["judged on the machine of this node"]


def test_a_gpu_that_is_gone_is_no_go(
    stand_in: StandIn, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answers("system.count=7", without=("system.count",))
    assert main(["preflight", script, *ONE_RULE]) == 1
    text = capsys.readouterr().out
    assert "the job uses 8 GPUs of each node; this one has 7" in text
    assert text.startswith("no-go: 1 error · 1 of 1 required checks could run ")


@pytest.mark.usefixtures("stand_in")
def test_the_machine_alone_is_judged_without_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = report(capsys, "--select", "memory_fault_pending")
    found = [(finding["subject"], finding["outcome"]) for finding in result["findings"]]
    assert found == [(f"GPU {number}", "pass") for number in range(8)]
    assert result["verdict"] == "pass"


@pytest.mark.usefixtures("stand_in")
def test_the_snapshot_is_kept_and_says_the_same_again(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "node.json")
    first = report(capsys, script, "--out", out, *ONE_RULE)
    words = [script, "--node", out, "--profile", "preflight", *ONE_RULE]
    assert main([*words, "--output", "json", "--full"]) == first["exit_code"]
    again = json.loads(capsys.readouterr().out)
    assert again["findings"] == first["findings"]


def test_a_machine_without_gpus_is_inconclusive(
    script: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    without_library(monkeypatch, tmp_path)
    result = report(capsys, script, *ONE_RULE)
    (found,) = result["findings"]
    assert (result["exit_code"], found["outcome"]) == (3, "unknown")
    assert found["missing"] == ["gpus"]
    assert "absent: nvmlInitWithFlags" in found["message"]


@pytest.mark.parametrize(
    ("set_here", "line", "judged"),
    few_rows(
        2,
        [
            ("", f"export {INTERFACE}=eth7", "eth7"),  # the file alone
            ("eth8", "", "eth8"),  # this process alone
            ("eth8", f"export {INTERFACE}=eth7", "eth7"),  # the file wins
            # it says so
            ("eth8", f"export {INTERFACE}=${{{INTERFACE}:-eth7}}", "eth8"),
            ("eth8", f'export {INTERFACE}="${{{INTERFACE}:-eth7}}"', "eth8"),
            ("eth8", f"export {INTERFACE}=${INTERFACE}", "eth8"),
            ("", f"export {INTERFACE}=${{{INTERFACE}:-eth7}}", "eth7"),
        ],
    ),
)
def test_a_file_sets_anew_what_is_set_here(
    set_here: str,
    line: str,
    judged: str,
    sysroot: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    environ = f"{INTERFACE}={set_here}" if set_here else ""
    (tmp_path / "root/proc/self/environ").write_text(environ, encoding="utf-8")
    path = tmp_path / "job.sh"
    path.write_text(f"{line}\n{SCRIPT}", encoding="utf-8")
    words = ("--sysroot", sysroot, "--select", "bootstrap_interface_unusable")
    (found,) = report(capsys, str(path), *words)["findings"]
    assert found["outcome"] == "fail"
    assert f"{INTERFACE}={judged}: no interface has this" in found["message"]


def test_the_topology_file_of_the_job_is_looked_at(
    sysroot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the one that the variables of this process name."""
    (tmp_path / "root/opt/mine.xml").write_text('<pci busid="000b:00:00.0"/>')
    path = tmp_path / "job.sh"
    path.write_text(f"export NCCL_TOPO_FILE=/opt/mine.xml\n{SCRIPT}", encoding="utf-8")
    words = ("--sysroot", sysroot, "--select", "topology_file_of_other_machine")
    (found,) = report(capsys, str(path), *words)["findings"]
    assert found["outcome"] == "fail"
    assert "NCCL_TOPO_FILE=/opt/mine.xml names 000b:00:00.0" in found["message"]


def test_a_probe_that_hangs_costs_the_budget_and_its_own_leaves(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answers("gpu.2.remap_pending=1", "gpu.4.nvmlDeviceGetPowerUsage.hang=1")
    began = time.monotonic()
    result = report(capsys, "--budget", "1.5s", "--select", "memory_fault_pending")
    assert time.monotonic() - began < 5
    outcomes = [finding["outcome"] for finding in result["findings"]]
    assert outcomes == ["pass", "pass", "fail", "pass", *["unknown"] * 4]
    assert result["exit_code"] == 1
    reason = "the gpu probe was stopped after 1.5 s"
    assert reason in result["findings"][7]["message"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--node", "n.json"], "no option --node"),
        (["--budget", "0"], "--budget 0: must be seconds above zero"),
        (["--sysroot", "/nowhere"], "--sysroot /nowhere: no such folder"),
        (["--fail-on", "maybe"], "--fail-on maybe: must be one of"),
        (["--profile", "preflihgt"], "preflihgt"),
        (["--out", "/nowhere/node.json"], "/nowhere/node.json"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    words: list[str], problem: str, sysroot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = [] if "--sysroot" in words else ["--sysroot", sysroot]
    assert main(["preflight", *words, *root]) == 2
    result = capsys.readouterr()
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert problem in result.err


def test_a_file_that_is_none_is_told_and_the_snapshot_kept(
    sysroot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "node.json"
    words = ["preflight", "nothing.yaml", "--sysroot", sysroot, "--out", str(out)]
    assert main(words) == 2
    assert "nothing.yaml: no such file" in capsys.readouterr().out
    assert json.loads(out.read_text())["schema"] == "speccheck-snapshot/1"


def test_a_snapshot_is_no_file_of_a_job(
    sysroot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "node.json")
    assert main(["probe", "--sysroot", sysroot, "--out", out]) == 0
    assert main(["preflight", out, "--sysroot", sysroot]) == 2
    result = capsys.readouterr().err
    says = f"preflight probes this machine; {out} is judged by speccheck {out}"
    assert result == f"speccheck: {says}\n"


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", "--help"]) == 0
    text = capsys.readouterr().out
    for word in ("--budget SECONDS", "--nodes N", "default 60s", "0 go; 1 no-go"):
        assert word in text


@pytest.mark.parametrize(
    ("command", "with_signal", "code"),
    [
        ("probe", signal.SIGINT, 130),
        ("preflight", signal.SIGINT, 130),
        ("preflight", signal.SIGTERM, -signal.SIGTERM),
        ("preflight", signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_an_interruption_leaves_no_half_file_and_no_probe_behind(
    command: str, with_signal: signal.Signals, code: int, tmp_path: Path
) -> None:
    """The probe of GPUs tells its process through a pipe, and waits for ever."""
    pipe, out = tmp_path / "pipe", tmp_path / "node.json"
    os.mkfifo(pipe)
    stub = f"import os\nopen({str(pipe)!r}, 'w').write(str(os.getpid()))\n"
    (tmp_path / "pynvml.py").write_text(stub + "import signal\nsignal.pause()\n")
    process = subprocess.Popen(
        (sys.executable, "-P", "-m", "speccheck", command, "--out", str(out)),
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}:{ROOT / '.imports'}",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    probe = int(pipe.read_text())
    process.send_signal(with_signal)
    printed, errors = process.communicate(timeout=30)
    assert (process.returncode, printed, errors) == (code, "", "")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["pipe", "pynvml.py"]
    assert _has_ended(probe)


def _has_ended(process: int) -> bool:
    """Return whether a process is gone, or a zombie that its parent has yet to bury."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state.split()[0] == "Z":
            return True
    return False
