"""`speccheck fleet` as its users run it: which nodes are not fit, and why."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fleet_trials import Ended, kept, lines, nodes, result, running
from slow_cases import few
from speccheck.validator.cli.main import main

PLAN = """\
schema: speccheck-faults/1
faults:
  - {fault: variable, nodes: [3, 40-41], name: NCCL_SOCKET_IFNAME, value: bond7}
  - {fault: pcie_link_down_generation, nodes: [17]}
  - {fault: driver_drift, nodes: [52], version: 570.124.06}
"""
JOB = """\
#!/bin/bash
#SBATCH --job-name=llama3-70b
#SBATCH --nodes=64
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=2-00:00:00

export NCCL_DEBUG=WARN
export NCCL_IB_TIMEOUT=22

srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8 --max-restarts={restarts} \\
  --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py
"""
FIVE = {
    "node0003": "bootstrap_interface_unusable",
    "node0017": "gpu_link_below_slot",
    "node0040": "bootstrap_interface_unusable",
    "node0041": "bootstrap_interface_unusable",
    "node0052": "driver_differs_across_nodes",
}
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 64 nodes, three kinds of fault on five of them, and the job."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "job.sbatch").write_text(JOB.format(restarts=3))
    (folder / "fragile.sbatch").write_text(JOB.format(restarts=0))
    for name, more in (
        ("fleet", ["--faults", str(folder / "plan.yaml")]),
        ("well", []),
    ):
        out = ["--out", str(folder / name)]
        assert main(["simulate", "--nodes", "64", *out, *more]) == 0
    return folder


@pytest.fixture(scope="module")
def real(cluster: Path) -> Path:
    """Return the same nodes as if real: nothing says that they were made up."""
    folder = cluster / "real"
    folder.mkdir()
    for path in (cluster / "fleet").glob("node*.json"):
        node = json.loads(path.read_text("utf-8"))
        del node["synthetic"]
        (folder / path.name).write_text(json.dumps(node), "utf-8")
    return folder


def unfit(ended: Ended) -> dict[str, tuple[str, list[str]]]:
    """Return the nodes that are not fit, with state and the rules against them."""
    return {
        item["node"]: (item["state"], [reason["rule"] for reason in item["reasons"]])
        for item in ended.data["unfit"]
    }


def test_exactly_the_five_nodes_with_faults_are_named(
    cluster: Path, capsys: Capture
) -> None:
    words = (cluster / "fleet", "--job", cluster / "job.sbatch")
    ended = running(capsys, *words)
    assert (ended.code, ended.error) == (1, "")
    assert "no-go  5 of 64 nodes are not fit\n" in ended.out
    assert "\ndrain node[0003,0017,0040-0041,0052]\n" in ended.out
    assert ended.out.endswith("no-go  exit 1\n")
    errors = re.findall(r"^error \S+ (\w+)  (.*)$", ended.out, re.MULTILINE)
    assert errors == [
        ("driver_differs_across_nodes", "on 1 node"),
        ("gpu_link_below_slot", "on 1 node"),
        ("bootstrap_interface_unusable", "on 3 nodes"),
    ]
    for remedy in ("Bring node0052 to the driver", "power cycle", "ip -br address"):
        assert remedy in ended.out
    assert len(ended.out.splitlines()) < 60
    found = running(capsys, *words, "--output", "json")
    assert found.code == found.data["exit_code"] == 1
    assert unfit(found) == {name: ("no-go", [rule]) for name, rule in FIVE.items()}
    assert found.data["nodes"]["fit"] == 59
    for group in found.data["findings"]:
        assert group["remedy"] or group["level"] != "error"


@pytest.mark.parametrize("form", few(["slurm", "kubernetes", "plain"], "slurm".__eq__))
def test_the_list_drains_exactly_the_five(
    form: str, real: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "drain"
    assert running(capsys, real, "--drain-list", f"{form}={path}").code == 1
    listed = path.read_text("utf-8").splitlines()
    begin = {
        "slurm": "scontrol update NodeName={} State=DRAIN Reason='speccheck: {}: ",
        "kubernetes": "kubectl cordon {}  # speccheck: {}: ",
        "plain": "{}",
    }[form]
    assert len(listed) == len(FIVE)
    for line, (name, rule) in zip(listed, FIVE.items(), strict=True):
        assert line.startswith(begin.format(name, rule))


def test_a_synthetic_fleet_drains_nobody(
    cluster: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "drain"
    running(capsys, cluster / "fleet", "--drain-list", f"slurm={path}")
    listed = path.read_text("utf-8").splitlines()
    assert len(listed) == len(FIVE)
    assert all(line.startswith("# synthetic: ") for line in listed)


@pytest.mark.slow
def test_a_fault_of_the_job_drains_nobody(
    cluster: Path, tmp_path: Path, capsys: Capture
) -> None:
    job, path = cluster / "fragile.sbatch", tmp_path / "drain"
    words = (cluster / "well", "--job", job)
    ended = running(capsys, *words, "--drain-list", f"plain={path}")
    assert ended.code == 1
    assert (
        "no-go  1 fault in the files of the job; 64 of 64 nodes are fit\n" in ended.out
    )
    assert "error FT-005 no_restart_budget  in the job\n" in ended.out
    assert "fragile.sbatch:11:" in ended.out
    assert "\n64 fit\n" in ended.out
    assert "drain" not in ended.out
    assert path.read_text("utf-8") == ""
    found = running(capsys, *words, "--output", "json")
    assert (found.code, unfit(found)) == (1, {})


def test_a_job_that_says_too_little_is_not_go(cluster: Path, capsys: Capture) -> None:
    words = (cluster / "well", "--job", cluster / "job.sbatch")
    ended = running(capsys, *words)
    assert ended.code == 3
    assert "all 64 nodes are fit, but the files of the job lack evidence" in (
        " ".join(ended.out.split())
    )


def test_a_fleet_that_is_well_goes(cluster: Path, capsys: Capture) -> None:
    ended = running(capsys, cluster / "well")
    assert ended.code == 0
    assert "\ngo  all 64 nodes are fit\n" in ended.out
    assert not re.search("^(error|warning) ", ended.out, re.MULTILINE)


@pytest.mark.slow
def test_who_is_expected(tmp_path: Path, capsys: Capture) -> None:
    folder = kept(tmp_path / "fleet", nodes(4))
    hosts = tmp_path / "hosts"
    hosts.write_text("node0001 node0002\nnode[0003-0004]\n\n", "utf-8")
    for expected in ("4", "node[0001-0004]", f"@{hosts}"):
        assert running(capsys, folder, "--expect", expected).code == 0
    ended = running(capsys, folder, "--expect", "5", "--output", "json")
    assert (ended.code, ended.data["verdict"]) == (3, "no-go")
    assert "4 of 5 nodes reported" in ended.data["reason"]
    ended = running(capsys, folder, "--expect", "node[0002-0005]", "--output", "json")
    assert ended.code == 3
    assert ended.data["nodes"]["missing"] == ["node0005"]
    assert ended.data["nodes"]["unexpected"] == ["node0001"]
    result = running(capsys, folder, "--expect", "node[0002-0005]").out
    assert "node0005" in result
    assert "node0001" in result
    # More than were expected, by number: nobody is missing, and it is told.
    ended = running(capsys, folder, "--expect", "3", "--output", "json")
    assert ended.data["nodes"]["expected"] == 3
    assert ended.data["nodes"]["reported"] == 4


def test_an_unknown_number_of_nodes_is_never_go(
    tmp_path: Path, capsys: Capture
) -> None:
    fleet = nodes(4)
    for node in fleet.values():
        del node["launch"]
    folder = kept(tmp_path / "fleet", fleet)
    ended = running(capsys, folder)
    assert ended.code == 3
    assert ended.out.endswith("inconclusive  exit 3\n")
    assert "how many were expected is not known" in " ".join(ended.out.split())
    assert running(capsys, folder, "--need", 3).code == 3
    assert running(capsys, folder, "--expect", 4).code == 0


@pytest.mark.slow
def test_spare_nodes_stand_in_for_those_that_are_not_fit(
    cluster: Path, capsys: Capture
) -> None:
    fleet = cluster / "fleet"
    ended = running(capsys, fleet, "--need", 59)
    assert ended.code == 0
    assert "59 nodes are fit, 59 are needed" in ended.out
    assert "drain node[0003,0017,0040-0041,0052]" in ended.out
    ended = running(capsys, fleet, "--need", 60)
    assert ended.code == 1
    assert "59 nodes are fit, 60 are needed" in ended.out


def test_a_fleet_of_one_node(tmp_path: Path, capsys: Capture) -> None:
    folder = kept(tmp_path / "fleet", nodes(1))
    assert running(capsys, folder / "node0001.json").code == 0
    assert running(capsys, folder, folder / "node0001.json").code == 0


def test_what_simulate_writes_is_read_whole_however_it_is_named(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "files"
    for out in (folder, tmp_path / "of_lines" / "fleet.jsonl"):
        out.parent.mkdir(exist_ok=True)
        assert main(["simulate", "--nodes", "5", "--out", str(out)]) == 0
        assert running(capsys, out).code == 0
    named = running(capsys, *sorted(folder.glob("*.json")))
    assert named.code == 0
    assert "and 3 more" in " ".join(named.out.split())
    assert running(capsys, tmp_path / "of_lines").code == 0


def test_files_of_other_kinds_are_counted(tmp_path: Path, capsys: Capture) -> None:
    folder = kept(tmp_path / "fleet", nodes(4))
    (folder / "node0002.json~").write_text("old", "utf-8")
    (folder / "slurm-17.out").write_text("ok", "utf-8")
    (folder / "rack2").symlink_to(kept(tmp_path / "rack2", nodes(2)))
    ended = running(capsys, folder)
    assert ended.code == 0
    assert "3 files of other kinds not read" in ended.out
    ended = running(capsys, folder, "--output", "json")
    assert ended.data["nodes"]["files_not_read"] == 3


def test_an_empty_folder_is_inconclusive(tmp_path: Path, capsys: Capture) -> None:
    ended = running(capsys, tmp_path, "--output", "json")
    assert ended.code == 3
    assert ended.data["reason"] == "no node reported anything that could be read"
    assert running(capsys, tmp_path, "--expect", 2).code == 3


USAGE: dict[str, list[str]] = {
    "no such folder": ["nowhere"],
    "no such option": ["fleet", "--exclude", "n1"],
    "no number": ["fleet", "--need", "many"],
    "none needed": ["fleet", "--need", "0"],
    "minus": ["fleet", "--need=-3"],
    "too many": ["fleet", "--expect", "99999999999"],
    "no names": ["fleet", "--expect", "n[1-"],
    "backwards": ["fleet", "--expect", "n[9-1]"],
    "nothing": ["fleet", "--expect", ""],
    "no list": ["fleet", "--expect", "@nowhere"],
    "a folder": ["fleet", "--expect", "@fleet"],
    "form": ["fleet", "--drain-list", "pbs"],
    "no file": ["fleet", "--drain-list", "slurm="],
    "no folder": ["fleet", "--drain-list", "slurm=nowhere/list"],
    "a folder to write": ["fleet", "--drain-list", "slurm=fleet"],
    "format": ["fleet", "--output", "yaml"],
    "two reports": ["fleet", "--output", "json", "--output", "text"],
    "mixed": ["fleet", "--output", "json", "--drain-list", "slurm"],
    "one file": ["fleet", "--output", "json=x", "--drain-list", "plain=x"],
    "no job": ["fleet", "--job", "nowhere.sbatch"],
    "no known job": ["fleet", "--job", "notes.txt"],
    "no cores": ["fleet", "--cores", "0"],
    "fail-on": ["fleet", "--fail-on", "anything"],
    "golden": ["fleet", "--golden", "nowhere.json"],
    "diff": ["fleet", "--diff", "nowhere"],
}


@pytest.mark.parametrize("kind", USAGE)
def test_a_wrong_command_line_is_told_in_one_line(
    kind: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path / "fleet", nodes(2))
    (tmp_path / "notes.txt").write_text("remember the milk\n")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    ended = running(capsys, *USAGE[kind])
    assert ended.code == 2, ended
    assert ended.out == ""
    assert ended.error.startswith("speccheck: ")
    assert ended.error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_without_an_argument_it_tells_its_use(capsys: Capture) -> None:
    ended = running(capsys)
    assert ended.code == 2
    assert "usage: speccheck fleet" in ended.out + ended.error


def _process(*words: str | Path, **more: Any) -> "subprocess.CompletedProcess[bytes]":  # noqa: ANN401
    command = [sys.executable, "-m", "speccheck", "fleet", *map(str, words)]
    return subprocess.run(
        command, check=False, timeout=300, stderr=subprocess.PIPE, **more
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "json"])
def test_as_a_process_whose_reader_went_away(form: str, cluster: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = _process(cluster / "fleet", "--output", form, stdout=writer)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return 200 and 2,000 nodes, as lines."""
    folder = tmp_path_factory.mktemp("many")
    found = folder / "200.jsonl", folder / "2000.jsonl"
    for path in found:
        words = ["--nodes", path.stem, "--out", str(path)]
        assert main(["simulate", *words]) == 0
    return found


def _peak_kilobytes(path: Path) -> int:
    """Return the most memory that a run on one core took."""
    program = (
        "import resource, sys\n"
        "from speccheck.validator.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(code, peak, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program, "fleet", str(path), "--cores", "1"]
    ended = subprocess.run(command, check=True, timeout=300, capture_output=True)
    code, peak = map(int, ended.stderr.split()[-2:])
    assert code == 0
    return peak


@pytest.mark.slow
def test_ten_times_the_nodes_take_little_more_memory(many: tuple[Path, Path]) -> None:
    few, most = map(_peak_kilobytes, many)
    assert most < few + 60_000


@pytest.mark.slow
def test_several_cores_say_what_one_says(many: tuple[Path, Path]) -> None:
    path = many[1]
    assert path.stat().st_size > 40_000_000  # more than two chunks
    for words in ((), ("--output", "json")):
        item, two = (
            _process(path, "--cores", cores, *words, stdout=subprocess.PIPE)
            for cores in ("1", "2")
        )
        assert (item.returncode, two.returncode) == (0, 0)
        assert item.stdout == two.stdout


def test_result_lines_alone_are_judged(tmp_path: Path, capsys: Capture) -> None:
    fleet = {f"n{number}": result(f"n{number}") for number in range(1, 5)}
    path = lines(tmp_path / "results.jsonl", fleet)
    ended = running(capsys, path, "--expect", "n[1-4]")
    assert ended.code == 3  # of what nodes share, these lines tell nothing
