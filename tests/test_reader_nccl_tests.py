"""Logs of nccl-tests of all releases and forks become the runs that they show."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from nccl_tests_logs import FOOT, HEAD, IN, LOG, NAMES, OLD, OUT, ROWS
from printed_measurements import line_of, node_of, parts, parts_of, reason
from speccheck.validator.sources.formats import nccl_tests
from speccheck.validator.sources.reader import Source


def test_a_table_is_a_run_for_each_placement(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, LOG)
    assert found == "nccl-tests"
    assert parts(node) == [OUT, IN]
    lines = {
        leaf: line_of(node, "collective_runs", 1, leaf)
        for leaf in ("tool_version", "collective", "iterations", "ranks", "placement")
    }
    assert list(lines.values()) == [1, 2, 3, 6, 13]
    assert line_of(node, "collective_runs", 1, "bus_bytes_per_second") == 15
    assert line_of(node, "collective_runs", 1, "out_of_bounds") == 17
    assert line_of(node, "collective_runs", 1, "is_complete") == 18


def test_until_2_11_columns_come_by_collective_and_errors_are_numbers(
    tmp_path: Path,
) -> None:
    out, into = parts_of(tmp_path, OLD)
    assert out["size_bytes"] == [0, 33554432]
    assert out["seconds"] == [34.27e-6, 265.8e-6]
    assert out["algorithm_bytes_per_second"] == [None, 126.24e9]
    assert out["bus_bytes_per_second"] == [None, 94.68e9]
    assert (out["is_compared"], out["wrong_values"]) == (True, [0, 0])
    assert into["is_compared"] is False
    assert "wrong_values" not in into
    assert (out["ranks"], out["nodes"], out["hosts"]) == (4, 1, ["dgx-03"])
    assert out["gpu"] == "Tesla V100-SXM3-32GB"
    expected = "no program and no command is named, and the rows may be of"
    assert reason(out["collective"]) == f"{expected} all_gather or all_to_all"


def test_where_sizes_are_out_of_bounds_old_rows_do_not_say_which(
    tmp_path: Path,
) -> None:
    out, _ = parts_of(tmp_path, OLD.replace("values : 0 OK", "values : 2 FAILED"))
    assert out["out_of_bounds"] == 2
    assert "wrong_values" not in out


HALF = "time algbw busbw #wrong"
WIDE = "#bitdiff i_min i_max i_p99 i_cv%"


@pytest.mark.parametrize(
    ("names", "row", "result"),
    [
        (f"{HALF} {HALF}", "10 1.00 1.50 0 20 2.00 3.00 N/A", {}),
        (
            f"{HALF} i_min i_max i_p99 i_cv% {HALF} i_min i_max i_p99 i_cv%",
            "10 1.00 1.50 0 9 12 11.5 2.50 20 2.00 3.00 N/A 1 2 3 4",
            {"p99_seconds": [11.5e-6], "variation": [0.025]},
        ),
        (
            f"{HALF} {WIDE} {HALF} {WIDE} timestamp",
            "10 1.0 1.50 0 0 9 12 11.5 2.5 20 2 3.00 N/A 0 1 2 3 4 2026-03-01 10:11:12",
            {"p99_seconds": [11.5e-6], "variation": [0.025]},
        ),
        (f"{HALF} {HALF} #iters", "10 1.00 1.50 0 20 2.00 3.00 N/A 20", {}),
        (f"{HALF} {HALF} algo proto", "10 1.00 1.50 0 20 2.00 3.00 N/A Ring LL", {}),
    ],
)
def test_columns_are_found_by_name(
    names: str, row: str, result: dict[str, object], tmp_path: Path
) -> None:
    text = f"# size count type redop root {names}\n 4096 1024 float sum -1 {row}\n"
    out, into = parts_of(tmp_path, HEAD + text + FOOT)
    assert out["seconds"] == [10e-6]
    assert out["bus_bytes_per_second"] == [1.5e9]
    assert into["bus_bytes_per_second"] == [3e9]
    assert into["is_compared"] is False
    assert {leaf: out[leaf] for leaf in result} == result
    assert ("p99_seconds" in out) == ("p99_seconds" in result)


def test_a_launch_time_is_no_time_of_the_collective(tmp_path: Path) -> None:
    out, _ = parts_of(tmp_path, LOG.replace("  time", "cputime"))
    assert reason(out["seconds"]) == "no value was measured"
    assert out["bus_bytes_per_second"] == [269.82e9, 277.31e9]


def test_a_table_of_one_placement(tmp_path: Path) -> None:
    text = "#   in-place\n# size count type redop root time algbw busbw #wrong\n"
    row = "8 2 float sum -1 10 1.00 1.50 0\n"
    (run,) = parts_of(tmp_path, HEAD + text + row + FOOT)
    assert run["placement"] == "in_place"


def test_words_of_a_fork_stand_in_its_settings(tmp_path: Path) -> None:
    text = LOG.replace("graph: 0", "graph: 0 side_work: 0 work_sms: 0 direction: H2D")
    assert parts_of(tmp_path, text) == [OUT, IN]


@pytest.mark.parametrize(
    "prefix",
    [
        "[1,0]<stdout>:",
        "[1,0]<stdout>: ",
        "[prterun-node-b-4100@1,0]<stdout>: ",
        "[1,mpirank:0,algo-1]<stdout>:",
        "Fri Oct 24 10:11:12 2025[1,0]<stdout>:",
        "0: ",
        " 0: ",
        "[0] ",
        "2026-03-01T10:11:12.345678Z ",
        "2026-03-01T10:11:12.345678901+00:00 [1,0]<stdout>:",
        "[2026-03-01 10:11:12] ",
        "[pod/nccl-test-launcher-x7k/launcher] ",
        "node-b: ",
    ],
)
def test_prefixes_of_launchers_are_passed_over(prefix: str, tmp_path: Path) -> None:
    lines = [f"{prefix}{line}" for line in LOG.splitlines()]
    banner = "Warning: Permanently added 'node-a' (ED25519) to the list of hosts.\n"
    info = "[1,3]<stdout>:node-a:7302:7302 [1] NCCL INFO Bootstrap: Using eth0\n"
    text = banner + "\n".join([*lines[:9], info, *lines[9:]]) + "\n"
    found = parts_of(tmp_path, text)
    assert found == [OUT, IN]


def test_several_commands_in_one_log(tmp_path: Path) -> None:
    gather = (
        LOG.replace("all_reduce_perf", "all_gather_perf")
        .replace("sum", "none")
        .replace("269.82", "134.91")
    )
    found = parts_of(tmp_path, LOG + gather)
    assert [run["collective"] for run in found] == ["all_reduce"] * 2 + [
        "all_gather"
    ] * 2
    assert found[:2] == [OUT, IN]


def test_the_command_tells_the_collective_where_the_table_does_not(
    tmp_path: Path,
) -> None:
    command = "+ mpirun -np 4 /opt/nccl-tests/build/all_gather_perf -b 1 -e 64M -f 2\n"
    other = "+ mpirun -np 4 /opt/nccl-tests/build/alltoall_perf -b 1 -e 64M -f 2\n"
    _, node = node_of(tmp_path, command + OLD + other + OLD)
    names = [run["collective"] for run in parts(node)]
    assert names == ["all_gather"] * 2 + ["all_to_all"] * 2
    assert line_of(node, "collective_runs", 0, "collective") == 1
    both = parts_of(tmp_path, command + other + OLD)
    assert "all_gather or all_to_all" in reason(both[0]["collective"])
    no_such = command.replace("all_gather", "all_reduce") + OLD
    assert "all_gather or" in reason(parts_of(tmp_path, no_such)[0]["collective"])


@pytest.mark.parametrize(
    ("name", "collective"),
    [
        ("bench_allgather.log", "all_gather"),
        ("1_4_LOG_all-to-all_job7.txt", "all_to_all"),
        ("all_reduce.log", None),
        ("allgather_and_alltoall.log", None),
        ("slurm-1234.out", None),
    ],
)
def test_the_name_of_the_file_decides_among_what_the_rows_allow(
    name: str, collective: str | None, tmp_path: Path
) -> None:
    _, node = node_of(tmp_path, OLD, name)
    found = parts(node)[0]["collective"]
    assert (found if isinstance(found, str) else None) == collective


@pytest.mark.parametrize(
    ("redop", "root", "bus", "collective"),
    [
        ("sum", "-1", 150.0, "all_reduce"),
        ("sum", "-1", 75.0, "reduce_scatter"),
        ("sum", "-1", 100.0, "sendrecv"),
        ("sum", "0", 100.0, "reduce"),
        ("none", "0", 100.0, "broadcast"),
        ("none", "-1", 75.0, None),
        ("none", "0", 75.0, None),
        ("sum", "-1", 130.0, None),
    ],
)
def test_rows_tell_what_they_can_of_the_collective(
    redop: str, root: str, bus: float, collective: str | None, tmp_path: Path
) -> None:
    half = f"10 100.00 {bus:.2f} 0"
    rows = f"1000000 250000 float {redop} {root} {half} {half}\n"
    head = HEAD.replace("# Collective test starting: all_reduce_perf\n", "")
    run, _ = parts_of(tmp_path, head + NAMES + rows)
    found = run["collective"]
    assert (found if isinstance(found, str) else None) == collective


def test_sizes_that_start_over_are_another_run(tmp_path: Path) -> None:
    other = ROWS.replace("float", "half")
    found = parts_of(tmp_path, HEAD + NAMES + ROWS + ROWS + other + FOOT)
    assert [run["placement"] for run in found] == ["out_of_place", "in_place"] * 3
    assert [run["data_type"] for run in found[::2]] == ["float", "float", "half"]
    assert all(run["size_bytes"] == [2**29, 2**30] for run in found)
    assert all(run["is_complete"] is True for run in found)


def test_one_size_over_and_over_is_as_many_runs(tmp_path: Path) -> None:
    row = ROWS.splitlines(keepends=True)[0]
    head = HEAD.replace("maxBytes 1073741824", "maxBytes 536870912")
    found = parts_of(tmp_path, head + NAMES + row * 3 + FOOT)
    assert [run["size_bytes"] for run in found] == [[2**29]] * 6


def test_the_log_of_a_job_with_several_tools(tmp_path: Path) -> None:
    copies = """\
Running device_local_copy.
memcpy local GPU(column) bandwidth (GB/s)
           0         1
 0   1519.07   1518.93

SUM device_local_copy 3038.00
"""
    _, node = node_of(tmp_path, copies + LOG)
    assert parts(node) == [OUT, IN]
    (copy,) = parts(node, "copy_tests")
    assert copy["bytes_per_second"] == [1519.07e9, 1518.93e9]


@needs_corpus
def test_published_logs_hold_what_their_text_holds() -> None:
    paths = sorted(corpus_folder("logs/nccl-tests").glob("*.log"))
    assert len(paths) == 3
    for path in paths:
        text = path.read_text("utf-8")
        words = [line.split() for line in text.splitlines()]
        rows = [word for word in words if len(word) > 10 and word[0].isdigit()]
        reading = nccl_tests.READER.read(Source(str(path), text))
        assert reading.node is not None
        assert sum("float" in word for word in words) == len(rows)
        for run, at in zip(parts(reading.node), (-8, -4), strict=True):
            name = path.stem.partition("_")[2]
            assert str(run["collective"]).replace("_", "") == name
            assert (run["ranks"], run["nodes"], run["is_complete"]) == (8, 1, True)
            assert run["size_bytes"] == [int(row[0]) for row in rows]
            assert run["seconds"] == [float(f"{row[at]}e-6") for row in rows]
            for leaf, column in (
                ("algorithm_bytes_per_second", at + 1),
                ("bus_bytes_per_second", at + 2),
            ):
                assert run[leaf] == [
                    float(f"{row[column]}e9") if int(row[0]) else None for row in rows
                ]
