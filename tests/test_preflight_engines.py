"""`speccheck preflight` on one node among many: engines, ranks, folders, Nagios."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from machine_files import build, healthy
from nvml_stand_in import ROOT, StandIn
from slow_cases import few_rows
from speccheck.validator.cli.main import main
from speccheck.validator.node.result import read_result

STEP = {
    "SLURM_JOB_ID": "4711",
    "SLURM_NTASKS": "16",
    "SLURM_PROCID": "8",
    "SLURM_LOCALID": "0",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[1-2]",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURMD_NODENAME": "n2",
}
PERFDATA = re.compile(r"[a-z]+=\d+(?:\.\d+)?s?;\d*;\d*;0")
ONE_RULE = ("--select", "memory_fault_pending")


@pytest.fixture
def sysroot(tmp_path: Path) -> str:
    """Return the files of a machine with two GPUs that nobody can ask."""
    return str(build(tmp_path / "root", *healthy()))


def started_by(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    """Set the variables of a launcher."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("environ", "said"),
    few_rows(
        1,
        [
            (
                STEP,
                {"engine": "slurm", "node": "n2", "job": "4711", "rank": 8, "ranks": 16}
                | {"nodes": 2, "node_list": "n[1-2]", "attempt": 0},
            ),
            (
                {"SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "n[1-4]"}
                | {"SLURMD_NODENAME": "n3", "SLURM_SCRIPT_CONTEXT": "prolog_slurmd"},
                {"engine": "slurm", "node": "n3", "job": "4711", "node_list": "n[1-4]"},
            ),
            (
                {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
                | {"OMPI_COMM_WORLD_LOCAL_RANK": "0", "SPECCHECK_HOST": "node7"},
                {"engine": "mpi", "node": "node7", "rank": 1, "ranks": 2},
            ),
            (
                {"RANK": "8", "WORLD_SIZE": "16", "LOCAL_RANK": "0", "GROUP_RANK": "1"}
                | {"TORCHELASTIC_RUN_ID": "run-7", "TORCHELASTIC_RESTART_COUNT": "3"}
                | {"SPECCHECK_HOST": "node7"},
                {"engine": "torchrun", "node": "node7", "job": "run-7", "rank": 8}
                | {"ranks": 16, "attempt": 3},
            ),
            (
                {"JOB_COMPLETION_INDEX": "5", "NODE_NAME": "gke-a3-17"}
                | {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "SPECCHECK_RANKS": "8"}
                | {"SPECCHECK_ATTEMPT": "1", "SPECCHECK_JOB": "preflight-9"},
                {"engine": "kubernetes", "node": "gke-a3-17", "job": "preflight-9"}
                | {"rank": 5, "ranks": 8, "attempt": 1},
            ),
            (
                {"RAY_JOB_ID": "01000000", "SPECCHECK_HOST": "node7"},
                {"engine": "ray", "node": "node7", "job": "01000000"},
            ),
        ],
    ),
)
def test_snapshot_and_line_tell_engine_node_and_rank(
    environ: dict[str, str],
    said: dict[str, object],
    sysroot: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started_by(monkeypatch, environ)
    folder = f"{tmp_path}/nodes/"
    words = ["--sysroot", sysroot, "--out", folder, "--result", folder]
    assert main(["preflight", *words, *ONE_RULE]) == 3
    taken = json.loads(Path(folder, f"{said['node']}.json").read_text())
    assert said.items() <= taken["launch"].items()
    line = json.loads(Path(folder, f"{said['node']}.result.json").read_text())
    assert said.items() <= line.items()
    names = ("job", "rank", "ranks", "nodes", "node_list", "attempt")
    assert not {name for name in names if name in line} - said.keys()


def test_of_several_ranks_on_a_node_one_looks_at_it(
    sysroot: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    started_by(monkeypatch, {**STEP, "SLURM_PROCID": "11", "SLURM_LOCALID": "3"})
    folder = tmp_path / "nodes"
    words = ["--sysroot", sysroot, "--result", f"{folder}/", *ONE_RULE]
    assert main(["preflight", *words]) == 0
    result = capsys.readouterr()
    assert result.out == ""
    assert result.err == (
        "speccheck: rank 11 leaves n2 to its first rank (SLURM_PROCID tells local rank "
        "3); --every-rank looks at it all the same\n"
    )
    assert not folder.exists()
    # Files of ranks that all look do not get in the way of each other.
    assert main(["preflight", *words, "--every-rank"]) == 3
    assert [item.name for item in folder.iterdir()] == ["n2.3.result.json"]


def test_a_rank_in_doubt_looks_at_the_node(
    sysroot: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started_by(monkeypatch, {**STEP, "SLURM_LOCALID": "three", "SLURM_PROCID": "-1"})
    assert main(["preflight", "--sysroot", sysroot, "--result=-", *ONE_RULE]) == 3
    line = json.loads(capsys.readouterr().out)
    assert (line["node"], line["job"], "rank" in line) == ("n2", "4711", False)


def test_a_hostile_name_of_a_node_leaves_the_folder_alone(
    sysroot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_by(monkeypatch, {**STEP, "SLURMD_NODENAME": "../../../tmp/owned"})
    folder = tmp_path / "nodes"
    folder.mkdir()
    words = ["--sysroot", sysroot, "--out", str(folder), *ONE_RULE]
    assert main(["preflight", *words]) == 3
    (written,) = folder.iterdir()
    assert written.name == f"{os.uname().nodename}.json"
    launch = json.loads(written.read_text())["launch"]
    assert "node" not in launch
    assert launch["unknown"]["node"].endswith("is no name of a host")


@pytest.mark.slow
def test_many_nodes_write_into_one_folder_at_once(sysroot: str, tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "nodes"
    started = [
        subprocess.Popen(
            (
                *(sys.executable, "-P", "-m", "speccheck", "preflight", *ONE_RULE),
                *("--sysroot", sysroot, "--out", f"{folder}/"),
                *("--result", f"{folder}/"),
            ),
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / ".imports"),
                **STEP,
                "SLURMD_NODENAME": f"n{number}",
            },
            stdout=subprocess.DEVNULL,
        )
        for number in range(6)
    ]
    assert [item.wait(timeout=120) for item in started] == [3] * 6
    names = {
        f"n{number}{end}" for number in range(6) for end in (".json", ".result.json")
    }
    assert {item.name for item in folder.iterdir()} == names
    for number in range(6):
        line = (folder / f"n{number}.result.json").read_text()
        assert read_result(line).node == f"n{number}"


def test_a_folder_that_cannot_be_written_is_told(
    sysroot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    words = ["--sysroot", sysroot, "--out", f"{tmp_path}/file/nodes/"]
    assert main(["preflight", *words]) == 2
    result = capsys.readouterr()
    assert result.err == f"speccheck: --out {tmp_path}/file/nodes/: Not a directory\n"


def nagios(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, dict[str, str]]:
    """Return the code, the text, and the performance data of the one line."""
    code = main(["preflight", "--nagios", *words])
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    text, bar, data = line.rstrip("\n").partition(" | ")
    assert bar
    assert "|" not in data
    assert all(PERFDATA.fullmatch(item) for item in data.split(" ")), data
    return code, text, dict(item.split("=") for item in data.split(" "))


@pytest.mark.slow
def test_nagios_reads_one_line_and_its_own_codes(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text, data = nagios(capsys, *ONE_RULE)
    assert (code, text) == (
        0,
        "SPECCHECK OK - go: 1 of 1 required checks passed",
    )
    assert (data["errors"], data["pass"]) == ("0;;0;0", "1;;;0")
    stand_in.answers("gpu.2.remap_pending=1", "gpu.5.remap_pending=1")
    code, text, data = nagios(capsys, *ONE_RULE)
    assert code == 2
    assert text == (
        "SPECCHECK CRITICAL - no-go: 2 errors; 1 of 1 required checks could run: "
        "memory_fault_pending (GPU 2), memory_fault_pending (GPU 5)"
    )
    assert data["errors"] == "2;;0;0"


def test_a_warning_is_a_warning_of_nagios(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answers("gpu.3.persistence=0", without=("gpu.persistence",))
    words = ("--select", "memory_fault_pending,mode_unfit_for_training")
    code, text, data = nagios(capsys, *words)
    assert (code, text.partition(":")[0]) == (1, "SPECCHECK WARNING - go")
    assert text.endswith(": mode_unfit_for_training (GPU 3)")
    assert (data["warnings"], data["errors"]) == ("1;0;;0", "0;;0;0")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--nope"], "usage: no option --nope"),
        (["a|b.yaml"], "usage: 1 file could not be judged"),
        (["--budget", "|"], "usage: --budget /: must be seconds above zero"),
        ([*ONE_RULE], "inconclusive: "),
    ],
)
def test_what_nobody_knows_is_unknown_to_nagios(
    words: list[str], reason: str, sysroot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text, _ = nagios(capsys, *words, "--sysroot", sysroot)
    assert code == 3
    assert text.startswith(f"SPECCHECK UNKNOWN - {reason}")


def test_a_bug_is_unknown_to_nagios(
    sysroot: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("speccheck.probes.collect.snapshot", broken)
    code, text, _ = nagios(capsys, "--sysroot", sysroot)
    assert (code, text[:24]) == (3, "SPECCHECK UNKNOWN - bug:")


def test_the_line_of_nagios_leaves_reports_in_files(
    sysroot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, result = tmp_path / "report.json", tmp_path / "r.json"
    words = ("--output", f"json={report}", "--result", str(result))
    code, _, _ = nagios(capsys, "--sysroot", sysroot, *ONE_RULE, *words)
    assert code == 3
    assert json.loads(report.read_text())["exit_code"] == 3
    assert read_result(result.read_text()).exit_code == 3


def test_exit_zero_leaves_the_verdict_to_the_line(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answers("gpu.2.remap_pending=1")
    result = tmp_path / "r.json"
    words = ["preflight", "--exit-zero", *ONE_RULE]
    assert main([*words, "--result", str(result)]) == 0
    assert read_result(result.read_text()).verdict == "no-go"
    assert main([*words, "--nope", "--result", str(result)]) == 0
    assert read_result(result.read_text()).verdict == "usage"
    # Without a line nobody would know.
    assert main(words) == 2
    assert main([*words, "--result", "/nowhere/r.json"]) == 2
    assert "--exit-zero needs --result" in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_that_nobody_takes_does_not_hold_up_a_node(
    sysroot: str, tmp_path: Path
) -> None:
    """A pipe without a reader, as a file system without its server."""
    os.mkfifo(tmp_path / "pipe")
    words = ("--sysroot", sysroot, "--out", str(tmp_path / "pipe"), "--budget", "0.5s")
    ended = subprocess.run(
        (
            *(sys.executable, "-P", "-m", "speccheck", "preflight", *words),
            *("--result", str(tmp_path / "r.json")),
        ),
        env={**os.environ, "PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    says = f"ended after 10.5 s while writing {tmp_path}/pipe: probes and measurements"
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith(f"speccheck: {says}")
    result = read_result((tmp_path / "r.json").read_text())
    assert (result.verdict, result.reason.startswith(says)) == ("inconclusive", True)


@pytest.mark.slow
def test_mpirun_gives_a_line_of_each_node(sysroot: str, tmp_path: Path) -> None:
    """Two processes on this machine, as if it were two, into one pipe."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("mpirun is not installed")
    script = tmp_path / "node.sh"
    script.write_text(
        "#!/bin/sh\n"
        "export SPECCHECK_HOST=node$OMPI_COMM_WORLD_RANK\n"
        f'exec {sys.executable} -P -m speccheck preflight "$@"\n'
    )
    script.chmod(0o755)
    words = ("--sysroot", sysroot, "--result", "-", "--every-rank", "--exit-zero")
    ended = subprocess.run(
        (mpirun, "--oversubscribe", "-n", "3", str(script), *words, *ONE_RULE),
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / ".imports"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    found = [read_result(line) for line in ended.stdout.splitlines()]
    result = {
        (finding.node, finding.rank, finding.ranks, finding.engine, finding.verdict)
        for finding in found
    }
    assert result == {
        ("node0", 0, 3, "mpi", "inconclusive"),
        ("node1", 1, 3, "mpi", "inconclusive"),
        ("node2", 2, 3, "mpi", "inconclusive"),
    }
    assert len({finding.job for finding in found}) == 1
