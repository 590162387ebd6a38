"""What nccl-tests write with -J: the runs, and nothing of the environment."""

import json
from pathlib import Path
from typing import Any

import pytest

from printed_measurements import node_of, parts, read_mutated, reason
from speccheck.validator.cli.main import main
from speccheck.validator.sources.formats import nccl_tests_json
from speccheck.validator.sources.reader import Reader

HIDDEN = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def half(time: object, rate: float, wrong: object) -> dict[str, object]:
    return {"time": time, "alg_bw": rate, "bus_bw": rate * 1.5, "nwrong": wrong}


def row(size: int, **more: object) -> dict[str, object]:
    return {
        "size": size,
        "count": size // 4,
        "type": "float",
        "redop": "sum",
        "root": "    -1",
        "out_of_place": half(2984.613372, 179.882345, 0.0),
        "in_place": half("nan", 180.0, None),
        **more,
    }


def a_file(**changes: object) -> dict[str, Any]:
    """Return a file as nccl-tests write it: of two processes with two GPUs each."""
    devices = [
        {
            "rank": 2 * number,
            "group": 0,
            "pid": 4100 + number,
            "hostname": f"node-{number}",
            "device": 0,
            "device_hex": "0000:19:00",
            "device_info": "NVIDIA H200",
        }
        for number in range(2)
    ]
    return {
        "version": 3,
        "start_time": "2026-03-01 10:11:12",
        "args": ["/opt/nccl-tests/build/all_reduce_perf", "-J", HIDDEN],
        "env": [f"AWS_SECRET_ACCESS_KEY={HIDDEN}", "NCCL_DEBUG=INFO"],
        "nccl_version": 22809,
        "config": {
            "nthreads": 1,
            "ngpus": 2,
            "minimum_bytes": 2**29,
            "maximum_bytes": 2**30,
            "warmup_iters": 1,
            "iterations": 20,
            "validation": 1,
            "blocking_collectives": "false",
            "devices": devices,
        },
        "results": [row(2**29), row(2**30)],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 270.0, "okay": "unchecked"},
        "errors": [""],
        "end_time": "2026-03-01 10:12:12",
        **changes,
    }


def runs_of(folder: Path, content: object) -> list[dict[str, object]]:
    found, node = node_of(folder, json.dumps(content), "result.json")
    assert found == "nccl-tests-json"
    return parts(node)


OUT = {
    "tool": "nccl-tests",
    "backend": "nccl",
    "library_version": "2.28.9",
    "warmup_iterations": 1,
    "iterations": 20,
    "out_of_bounds": 0,
    "is_complete": True,
    "gpu": "NVIDIA H200",
    "ranks": 4,
    "nodes": 2,
    "hosts": ["node-0", "node-1"],
    "data_type": "float",
    "collective": "all_reduce",
    "placement": "out_of_place",
    "is_compared": True,
    "size_bytes": [2**29, 2**30],
    "seconds": [0.002984613372] * 2,
    "algorithm_bytes_per_second": [179882345000.0] * 2,
    "bus_bytes_per_second": [269823517500.0] * 2,
    "wrong_values": [0, 0],
}


def test_each_placement_is_a_run(tmp_path: Path) -> None:
    out, into = runs_of(tmp_path, a_file())
    assert out == OUT
    assert into["is_compared"] is False
    assert reason(into["seconds"]) == "no value was measured"
    assert into["bus_bytes_per_second"] == [270e9, 270e9]


def test_a_leaf_stands_at_its_key(tmp_path: Path) -> None:
    _, node = node_of(tmp_path, json.dumps(a_file()), "result.json")
    keys = {
        leaf: node.file.place(("collective_runs", 0, leaf)).key
        for leaf in ("ranks", "iterations", "seconds", "is_complete")
    }
    assert keys == {
        "ranks": "config.devices[0]",
        "iterations": "config.iterations",
        "seconds": "results[0]",
        "is_complete": "end_time",
    }


def test_iterations_tell_of_spread(tmp_path: Path) -> None:
    each = {"p99_us": 12.5, "cv_pct": 10.0, "times_us": [10.0, 11.0, 9.0, 12.0, 8.0]}
    results = [row(2**29, out_of_place_per_iter=each)]
    out, into = runs_of(tmp_path, a_file(results=results))
    assert (out["spread"], out["variation"]) == ([0.2], [0.1])
    assert out["p99_seconds"] == [12.5e-6]
    assert "spread" not in into


def test_a_file_that_was_closed_early_is_of_a_run_that_died(tmp_path: Path) -> None:
    died = a_file()
    for key in ("out_of_bounds", "average_bus_bandwidth", "errors", "end_time"):
        del died[key]
    out, _ = runs_of(tmp_path, died)
    assert (out["is_complete"], out["ended_by"]) == (False, "end of the log")
    del died["results"]
    (run,) = runs_of(tmp_path, died)
    assert run["collective"] == "all_reduce"
    assert reason(run["size_bytes"]) == "no row was measured"


def test_without_validation_nothing_was_compared(tmp_path: Path) -> None:
    config = {**a_file()["config"], "validation": 0}
    out, into = runs_of(tmp_path, a_file(config=config))
    assert (out["is_compared"], into["is_compared"]) == (False, False)


def test_the_rows_tell_the_collective_where_the_program_does_not(
    tmp_path: Path,
) -> None:
    out, _ = runs_of(tmp_path, a_file(args=["./a.out"]))
    assert out["collective"] == "all_reduce"
    out, _ = runs_of(tmp_path, a_file(args=[], config={}))
    assert reason(out["ranks"]) == "no line of the log names a rank"


ODD: list[dict[str, object]] = [
    {"results": {}},
    {"results": [None, 3, {"size": -1}, {"size": 2**70}, {"size": "8"}]},
    {"results": [row(8, out_of_place=None, in_place={"time": [], "bus_bw": "x"})]},
    {"config": []},
    {"config": {"devices": [None, {"rank": -1}, {"rank": 5}], "ngpus": "x"}},
    {"config": {"devices": [{"rank": 0}], "nthreads": 10**9, "ngpus": 10**9}},
    {"args": {}, "results": None},
    {"args": [{}], "out_of_bounds": [], "nccl_version": 0},
]


@pytest.mark.parametrize("changes", ODD)
def test_odd_values_are_passed_over(changes: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(a_file(**changes)), "utf-8")
    assert main([str(path)]) in {0, 1, 2, 3}


@pytest.mark.parametrize("form", ["text", "json", "sarif", "concise"])
@pytest.mark.parametrize("cut", [0, 1, 200, 560, 2000])
def test_nothing_of_the_environment_reaches_a_report(
    form: str, cut: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(a_file())
    path = tmp_path / "result.json"
    path.write_text(text[:-cut] if cut else text, "utf-8")
    main([str(path), "--output", form, "--full"])
    main([str(path), "--output", form, "--show-files"])
    printed = capsys.readouterr()
    assert HIDDEN[:12] not in printed.out + printed.err
    assert "AWS_" not in printed.out + printed.err


def test_odd_documents_are_read_as_far_as_they_go() -> None:
    reader = nccl_tests_json.READER
    assert isinstance(reader, Reader)
    read_mutated(reader, a_file(), 13, 150)
