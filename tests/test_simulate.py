"""`speccheck simulate`: what it writes, where, and what it refuses."""

import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator import VERSION
from speccheck.validator.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
Output = pytest.CaptureFixture[str]
SYNTHETIC = {
    "by": "speccheck simulate",
    "version": VERSION,
    "seed": 7,
    "profile": "dgx-h100",
    "day": 1,
    "note": "made up: no such machine was looked at",
}


def simulate(*words: object) -> int:
    return main(["simulate", *map(str, words)])


def content(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text("utf-8"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def plan(folder: Path, *faults: str, more: str = "") -> Path:
    path = folder / "plan.yaml"
    rows = "".join(f"  - {{{fault}}}\n" for fault in faults)
    path.write_text(f"schema: speccheck-faults/1\n{more}faults:\n{rows}", "utf-8")
    return path


def test_a_folder_gets_a_snapshot_a_node_and_the_truth(
    tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "fleet"
    faults = plan(tmp_path, "fault: gpu_missing, nodes: [2]")
    words = ("--nodes", 3, "--out", out, "--seed", 7, "--faults", faults)
    assert simulate(*words, "--job", "llama") == 0
    assert sorted(item.name for item in out.iterdir()) == [
        *("node0001.json", "node0002.json", "node0003.json", "simulation.json")
    ]
    node = content(out / "node0002.json")
    assert node["schema"] == "speccheck-snapshot/1"
    assert node["synthetic"] == SYNTHETIC
    assert node["host"]["name"] == "node0002"
    assert node["launch"] == {
        "engine": "slurm",
        "node": "node0002",
        "job": "llama",
        "attempt": 0,
        "rank": 1,
        "ranks": 3,
        "nodes": 3,
        "node_list": "node[0001-0003]",
    }
    assert content(out / "simulation.json") == {
        "schema": "speccheck-simulation/1",
        "synthetic": SYNTHETIC,
        "nodes": 3,
        "node_list": "node[0001-0003]",
        "job": "llama",
        "taken": "2026-11-21T18:00:00Z",
        "is_complete": True,
        "has_measurements": False,
        "planted": [
            {
                "fault": "gpu_missing",
                "text": "one GPU less than its type has",
                "values": {},
                "rules": ["gpu_missing"],
                "rules_of": "dgx-h100",
                "is_fleet": False,
                "delivery": "",
                "nodes": ["node0002"],
            }
        ],
    }
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines() == [
        f"{out}: 3 synthetic nodes of dgx-h100, seed 7; faults on 1 node",
        "       1  gpu_missing",
        f"what is wrong where: {out / 'simulation.json'}",
    ]


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    faults = plan(tmp_path, "fault: missing, count: 2", "fault: xid, share: 0.2")
    for name in ("one.jsonl.gz", "other.jsonl.gz"):
        out = tmp_path / name
        assert simulate("--nodes", 20, "--out", out, "--faults", faults) == 0
    assert digest(tmp_path / "one.jsonl.gz") == digest(tmp_path / "other.jsonl.gz")


def test_a_node_is_the_same_in_fleets_of_any_size(tmp_path: Path) -> None:
    """But for what its job is told to be."""
    for nodes in (2, 30):
        simulate("--nodes", nodes, "--out", tmp_path / str(nodes), "--quiet")
    small, large = (content(tmp_path / item / "node0002.json") for item in ("2", "30"))
    assert small.pop("launch") != large.pop("launch")
    assert small == large


def test_another_seed_makes_another_fleet(tmp_path: Path) -> None:
    for seed in (1, 2):
        out = tmp_path / str(seed)
        simulate("--nodes", 1, "--out", out, "--seed", seed, "--quiet")
    item, other = (content(tmp_path / seed / "node0001.json") for seed in "12")
    assert item["gpus"][0]["uuid"] != other["gpus"][0]["uuid"]
    assert item["host"]["uptime_seconds"] != other["host"]["uptime_seconds"]


def test_another_day_shows_the_same_machines_later(tmp_path: Path) -> None:
    for day in (1, 8):
        out = tmp_path / str(day)
        simulate("--nodes", 2, "--out", out, "--day", day, "--quiet")
    early, late = (content(tmp_path / day / "node0002.json") for day in "18")
    assert early["taken"].startswith("2026-11-21T18:0")
    assert late["taken"].startswith("2026-11-28T18:0")
    uptimes = [item["host"]["uptime_seconds"] for item in (early, late)]
    assert round(uptimes[1] - uptimes[0]) == 7 * 86_400
    for kind, leaf in (
        ("gpus", "uuid"),
        ("gpus", "remap_banks"),
        ("rdma_devices", "node_guid"),
        ("network_interfaces", "carrier_changes"),
    ):
        assert [item[leaf] for item in early[kind]] == [
            item[leaf] for item in late[kind]
        ]
    assert early["kernel_events"] == late["kernel_events"]
    assert [gpu["power_watts"] for gpu in early["gpus"]] != [
        gpu["power_watts"] for gpu in late["gpus"]
    ]
    for item, later in zip(early["gpus"], late["gpus"], strict=True):
        leaf = "ecc_corrected_aggregate"
        assert item[leaf] <= later[leaf]


def test_lines_hold_the_same_as_files(tmp_path: Path) -> None:
    faults = plan(tmp_path, "fault: nvlink_down, nodes: [1]")
    for name in ("folder", "lines.jsonl", "packed.jsonl.gz"):
        simulate("--nodes", 3, "--out", tmp_path / name, "--faults", faults)
    lines = (tmp_path / "lines.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "packed.jsonl.gz").read_bytes()) == lines
    names = ("node0001", "node0002", "node0003")
    assert [json.loads(line) for line in lines.splitlines()] == [
        content(tmp_path / "folder" / f"{name}.json") for name in names
    ]
    truth = content(tmp_path / "folder" / "simulation.json")
    assert content(tmp_path / "lines.simulation.json") == truth
    assert content(tmp_path / "packed.simulation.json") == truth


def test_what_goes_wrong_with_files(tmp_path: Path) -> None:
    names = ("missing", "damaged", "empty", "twice", "killed_rank", "newer_version")
    rows = [f"fault: {name}, nodes: [{n}]" for n, name in enumerate(names, 1)]
    faults = plan(tmp_path, *rows, "fault: stale, nodes: [7], hours: 24")
    out = tmp_path / "fleet"
    assert simulate("--nodes", 7, "--out", out, "--faults", faults) == 0
    assert sorted(item.name for item in out.iterdir()) == [
        ".node0005.json.4242.part",
        "node0002.json",
        "node0003.json",
        "node0004-again.json",
        "node0004.json",
        "node0006.json",
        "node0007.json",
        "simulation.json",
    ]
    with pytest.raises(json.JSONDecodeError):
        content(out / "node0002.json")
    assert (out / "node0003.json").read_bytes() == b""
    first, second = (content(out / f"node0004{name}.json") for name in ("-again", ""))
    assert first.pop("taken") < second.pop("taken")
    assert first == second
    assert content(out / "node0006.json")["schema"] == "speccheck-snapshot/2"
    assert content(out / "node0007.json")["taken"].startswith("2026-11-20T18:0")


def test_lines_of_what_goes_wrong(tmp_path: Path) -> None:
    names = ("missing", "damaged", "empty", "twice", "killed_rank")
    rows = [f"fault: {name}, nodes: [{n}]" for n, name in enumerate(names, 1)]
    out = tmp_path / "fleet.jsonl"
    simulate("--nodes", 6, "--out", out, "--faults", plan(tmp_path, *rows))
    lines = out.read_bytes().splitlines()
    assert [len(line) > 0 for line in lines] == [
        *(True, False, True, True, True, True)  # damaged, empty, twice, killed, well
    ]
    known = {2, 3, 5}
    for number, line in enumerate(lines):
        if number in known:
            json.loads(line)
        else:
            with pytest.raises(json.JSONDecodeError):
                json.loads(line)


def test_a_folder_of_its_own_is_written_anew(tmp_path: Path) -> None:
    out = tmp_path / "fleet"
    rows = ("fault: killed_rank, nodes: [3]", "fault: twice, nodes: [4]")
    simulate("--nodes", 5, "--out", out, "--faults", plan(tmp_path, *rows))
    assert simulate("--nodes", 2, "--out", out, "--quiet") == 0
    assert sorted(item.name for item in out.iterdir()) == [
        *("node0001.json", "node0002.json", "simulation.json")
    ]


@pytest.mark.parametrize("has_manifest", [False, True])
def test_files_of_others_are_left_alone(
    tmp_path: Path, capsys: Output, *, has_manifest: bool
) -> None:
    out = tmp_path / "fleet"
    if has_manifest:
        simulate("--nodes", 1, "--out", out, "--quiet")
        name = "notes.txt"
    else:
        out.mkdir()
        name = "node0001.json"
    (out / name).write_text("mine", "utf-8")
    before = {item.name: digest(item) for item in out.iterdir()}
    assert simulate("--nodes", 2, "--out", out) == 2
    assert {item.name: digest(item) for item in out.iterdir()} == before
    assert capsys.readouterr().err == (
        f"speccheck: --out {out}: has files that simulate did not write, such as "
        f"{name}; name a folder that is new or empty\n"
    )


def test_a_manifest_of_others_opens_nothing(tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "fleet"
    out.mkdir()
    (out / "simulation.json").write_text('{"nodes": 3}', "utf-8")
    (out / "node0001.json").write_text("mine", "utf-8")
    assert simulate("--nodes", 2, "--out", out) == 2
    assert "has files that simulate did not write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--out", "x"), "simulate needs --nodes N: how many machines"),
        (("--nodes", 3), "simulate needs --out DIR, or --out FILE.jsonl"),
        (("--nodes", 0, "--out", "x"), "--nodes 0: must be a whole number above zero"),
        (("--nodes", 100_001, "--out", "x"), "--nodes 100001: at most 100,000"),
        (
            ("--nodes", 1, "--out", "x", "--profile", "dgx-h10"),
            "--profile dgx-h10: no such type: did you mean dgx-h100?",
        ),
        (
            ("--nodes", 1, "--out", "x", "--profile", "\x1b[1mvax"),
            "--profile \\x1b[1mvax: no such type: see --list-profiles",
        ),
        (
            ("--nodes", 1, "--out", "fleet.json"),
            "--out fleet.json: must be a folder, or a file *.jsonl or *.jsonl.gz",
        ),
        (
            ("--nodes", 1, "--out", "no/fleet.jsonl"),
            "--out no/fleet.jsonl: no such folder: no",
        ),
        (("--nodes", 1, "--out", "taken"), "--out taken: File exists"),
        (
            ("--nodes", 1, "--out", "x", "--job", "a\nb"),
            "--job: must be a name of at most 100 characters",
        ),
        (
            ("--nodes", 1, "--out", "x", "--day", 4000),
            "--day 4000: at most 3,650",
        ),
        (
            ("fleet", "--nodes", 1),
            "simulate takes no file: fleet; see --out and --faults",
        ),
        (("--node", 1), "simulate has no option --node: it is one of speccheck FILE"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: tuple[object, ...],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("", "utf-8")
    assert simulate(*words) == 2
    assert capsys.readouterr().err == f"speccheck: {problem}\n"
    assert [item.name for item in tmp_path.iterdir()] == ["taken"]


def test_quiet_says_nothing(tmp_path: Path, capsys: Output) -> None:
    assert simulate("--nodes", 1, "--out", tmp_path / "fleet", "--quiet") == 0
    said = capsys.readouterr()
    assert said.out + said.err == ""


def test_a_terminal_is_told_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    words = ("--nodes", 3, "--out", tmp_path / "fleet.jsonl")
    simulate(*words)
    assert capsys.readouterr().err == "\r3 of 3 nodes\n"
    simulate(*words, "--quiet")
    assert capsys.readouterr().err == ""


def test_lists_of_faults_and_machines(capsys: Output) -> None:
    assert simulate("--list-faults") == 0
    faults = capsys.readouterr().out
    assert (
        "  nvlink_down\n      one NVLink of a GPU is down (gpu: 5, link: 17) ->"
        in faults
    )
    assert max(map(len, faults.splitlines())) <= 88
    assert simulate("--list-profiles") == 0
    assert "dgx-h100\n" in capsys.readouterr().out


def test_help(capsys: Output) -> None:
    assert simulate("--help") == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: speccheck simulate --nodes N")
    assert max(map(len, said.splitlines())) <= 88


@pytest.mark.slow
def test_memory_does_not_grow_with_the_nodes(tmp_path: Path) -> None:
    faults = plan(tmp_path, "fault: ecc_off, share: 0.5", more="measurements: true\n")
    program = (
        "import resource, sys\n"
        "from speccheck.validator.cli.main import main\n"
        "code = main(['simulate', *sys.argv[1:]])\n"
        "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    most: list[int] = []
    for nodes in ("20", "1500"):
        out = tmp_path / f"{nodes}.jsonl.gz"
        words = ("--nodes", nodes, "--out", out, "--faults", faults, "--quiet")
        ended = subprocess.run(
            [sys.executable, "-c", program, *map(str, words)],
            env={"PYTHONPATH": str(ROOT / ".imports")},
            capture_output=True,
            text=True,
            check=True,
        )
        code, kibibytes = map(int, ended.stdout.split())
        assert code == 0
        most.append(kibibytes)
    assert most[1] < most[0] + 3_000
