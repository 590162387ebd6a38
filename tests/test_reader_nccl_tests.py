"""Logs of nccl-tests of all releases and forks become the runs that they show."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from printed_measurements import (
    line_of,
    node_of,
    parts,
    parts_of,
    read_broken,
    reason,
)
from speccheck.validator.sources.formats import nccl_tests
from speccheck.validator.sources.source import Source

HEAD = """\
# nccl-tests version 2.17.8 nccl-headers=22807 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 536870912 maxBytes 1073741824 step: 2(factor) \
warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4101 on     node-b device  0 [0000:19:00] NVIDIA H200
#  Rank  1 Group  0 Pid   4102 on     node-b device  1 [0000:2d:00] NVIDIA H200
#  Rank  2 Group  0 Pid   7301 on     node-a device  0 [0000:19:00] NVIDIA H200
#  Rank  3 Group  0 Pid   7302 on     node-a device  1 [0000:2d:00] NVIDIA H200
NCCL version 2.28.9+cuda13.0
#
"""
NAMES = """\
#                                              out-of-place              in-place
#       size    count   type redop root    time  algbw  busbw #wrong    time  \
algbw  busbw #wrong
#        (B) (elements)                    (us) (GB/s) (GB/s)           (us) \
(GB/s) (GB/s)
"""
ROWS = """\
   536870912   134217728  float  sum  -1  2984.6  179.88  269.82      0  2979.7  \
180.18  270.27      0
  1073741824   268435456  float  sum  -1  5808.0  184.87  277.31      0  5882.2  \
182.54  273.81      2
"""
FOOT = """\
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 272.8
# GPU memory usage     : Initialization 1.2 GB | Total  1.2 GB
#
# Collective test concluded: all_reduce_perf
#
"""
LOG = HEAD + NAMES + ROWS + FOOT
OUT = {
    "tool": "nccl-tests",
    "tool_version": "2.17.8",
    "library_version": "2.28.9",
    "backend": "nccl",
    "collective": "all_reduce",
    "placement": "out_of_place",
    "data_type": "float",
    "gpu": "NVIDIA H200",
    "ranks": 4,
    "nodes": 2,
    "hosts": ["node-b", "node-a"],
    "warmup_iterations": 5,
    "iterations": 20,
    "is_complete": True,
    "is_compared": True,
    "out_of_bounds": 1,
    "size_bytes": [2**29, 2**30],
    "seconds": [0.0029846, 0.005808],
    "algorithm_bytes_per_second": [179.88e9, 184.87e9],
    "bus_bytes_per_second": [269.82e9, 277.31e9],
    "wrong_values": [0, 0],
}
IN = {
    **OUT,
    "placement": "in_place",
    "seconds": [0.0029797, 0.0058822],
    "algorithm_bytes_per_second": [180.18e9, 182.54e9],
    "bus_bytes_per_second": [270.27e9, 273.81e9],
    "wrong_values": [0, 2],
}


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


OLD = """\
# nThread 1 nGpus 4 minBytes 1 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 \
validation: 1
#
# Using devices
#   Rank  0 Pid  51 on   dgx-03 device  0 [0x07] Tesla V100-SXM3-32GB
#   Rank  1 Pid  51 on   dgx-03 device  1 [0x0a] Tesla V100-SXM3-32GB
#   Rank  2 Pid  51 on   dgx-03 device  2 [0x0f] Tesla V100-SXM3-32GB
#   Rank  3 Pid  51 on   dgx-03 device  3 [0x12] Tesla V100-SXM3-32GB
#
#                                    out-of-place                   in-place
#       size  count   type     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)  (elements)       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
dgx-03:51:51 [0] NCCL INFO Launch mode Group/CGMD
           0      0  float    34.27    0.00    0.00  0e+00    33.57    0.00    0.00  0e+00
    33554432  2097152  float    265.8  126.24   94.68  4e-07    257.5  130.33   97.75    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 24.1
"""


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
    ("names", "row", "told"),
    [
        (f"{HALF} {HALF}", "10 1.00 1.50 0 20 2.00 3.00 N/A", {}),
        (
            f"{HALF} i_min i_max i_p99 i_cv% {HALF} i_min i_max i_p99 i_cv%",
            "10 1.00 1.50 0 9 12 11.5 2.50 20 2.00 3.00 N/A 1 2 3 4",
            {"p99_seconds": [11.5e-6], "variation": [0.025]},
        ),
        (
            f"{HALF} {WIDE} {HALF} {WIDE} timestamp",
            "10 1.00 1.50 0 0 9 12 11.5 2.50 20 2.00 3.00 N/A 0 1 2 3 4"
            "  2026-03-01 10:11:12",
            {"p99_seconds": [11.5e-6], "variation": [0.025]},
        ),
        (f"{HALF} {HALF} #iters", "10 1.00 1.50 0 20 2.00 3.00 N/A 20", {}),
        (f"{HALF} {HALF} algo proto", "10 1.00 1.50 0 20 2.00 3.00 N/A Ring LL", {}),
    ],
)
def test_columns_are_found_by_name(
    names: str, row: str, told: dict[str, object], tmp_path: Path
) -> None:
    text = f"# size count type redop root {names}\n 4096 1024 float sum -1 {row}\n"
    out, into = parts_of(tmp_path, HEAD + text + FOOT)
    assert out["seconds"] == [10e-6]
    assert out["bus_bytes_per_second"] == [1.5e9]
    assert into["bus_bytes_per_second"] == [3e9]
    assert into["is_compared"] is False
    assert {leaf: out[leaf] for leaf in told} == told
    assert ("p99_seconds" in out) == ("p99_seconds" in told)


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


def test_rows_that_come_in_pieces(tmp_path: Path) -> None:
    first, second = ROWS.splitlines()
    info = "node-a:7302:9 [1] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"
    pieces = [
        first.replace("-1  2984.6", f"-1{info}\n  2984.6"),
        second.replace("0  5882.2", f"0{info}\n{info}\n  5882.2"),
    ]
    text = HEAD + NAMES + "\n".join(pieces) + "\n" + FOOT
    assert parts_of(tmp_path, text) == [OUT, IN]


@pytest.mark.parametrize(
    ("after", "word", "line"),
    [
        ("", "end of the log", 16),
        ("node-a: Test NCCL failure common.cu:970 'remote error'\n", "fault", 17),
        ("slurmstepd: error: *** STEP 7.0 ON node-a CANCELLED ***\n", "interrupt", 17),
        (
            "slurmstepd: error: *** JOB 7 ON node-a CANCELLED AT "
            "2026-03-01T10:00:00 DUE TO TIME LIMIT ***\n",
            "time budget",
            17,
        ),
        ("node-a: Test timeout (60s) common.cu:512\n", "time budget", 17),
        ("srun: error: node-a: task 3: Exited with exit code 1\n", "fault", 17),
        ("mpirun noticed that process rank 3 exited on signal 9\n", "fault", 17),
    ],
)
def test_a_table_without_its_last_lines_is_of_a_run_that_died(
    after: str, word: str, line: int, tmp_path: Path
) -> None:
    _, node = node_of(tmp_path, HEAD + NAMES + ROWS + after)
    out, into = parts(node)
    for run in (out, into):
        assert (run["is_complete"], run["ended_by"]) == (False, word)
        assert run["size_bytes"] == [2**29, 2**30]
    assert line_of(node, "collective_runs", 0, "ended_by") == line


def test_a_row_that_the_log_breaks_off_in_is_not_taken_for_whole(
    tmp_path: Path,
) -> None:
    text = HEAD + NAMES + ROWS.rstrip("\n")
    for length in range(1, 60):
        found = parts_of(tmp_path, text[:-length])
        assert found[0]["size_bytes"] in ([2**29], [2**29, 2**30])
        for run, whole in zip(found, (OUT, IN), strict=True):
            for leaf in ("seconds", "bus_bytes_per_second"):
                values, expected = run[leaf], whole[leaf]
                assert isinstance(values, list)
                assert isinstance(expected, list)
                assert values == expected[: len(values)], length


@pytest.mark.parametrize(
    "text",
    [
        HEAD + NAMES + "node-a: Test CUDA failure common.cu:1\n",
        HEAD + "node-a:7301:7301 [0] NCCL WARN Bootstrap\nSegmentation fault\n",
    ],
)
def test_a_run_that_dies_before_its_first_row_is_shown(
    text: str, tmp_path: Path
) -> None:
    (run,) = parts_of(tmp_path, text)
    assert (run["is_complete"], run["ended_by"]) == (False, "fault")
    assert (run["collective"], run["ranks"], run["nodes"]) == ("all_reduce", 4, 2)
    assert "placement" not in run
    assert reason(run["size_bytes"]) == "no row was measured"


def test_a_process_that_died_and_the_next_that_did_not(tmp_path: Path) -> None:
    died = HEAD + "node-a: Test NCCL failure common.cu:1\n"
    found = parts_of(tmp_path, died + LOG)
    assert found[:2] == [OUT, IN]
    assert [run["is_complete"] for run in found] == [True, True, False]


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


ALONE = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 1 iters: 20 \
agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid  {pid} on {host} device  {device} [0000:19:00] NVIDIA H200
"""
ALONE_ROWS = """\
 8 2 float sum -1 3.27 0.00 0.00 0 0.27 0.03 0.00 0
 16 4 float sum -1 3.11 0.01 0.00 0 0.25 0.06 0.00 0
"""
ALONE_FOOT = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0\n"


def test_processes_without_mpi_are_each_alone_and_it_shows(tmp_path: Path) -> None:
    texts = [
        ALONE.format(pid=70 + number, host="node-a", device=number)
        + NAMES
        + ALONE_ROWS
        + ALONE_FOOT
        for number in range(3)
    ]
    lines = [text.splitlines() for text in texts]
    mixed = "".join(
        f"{number}: {process[at]}\n"
        for at in range(len(lines[0]))
        for number, process in enumerate(lines)
    )
    found = parts_of(tmp_path, mixed)
    assert [run["ranks"] for run in found] == [1] * 6
    assert all(run["size_bytes"] == [8, 16] for run in found)
    assert all(run["is_complete"] is True for run in found)
    bare = "".join(line.partition(": ")[2] + "\n" for line in mixed.splitlines())
    found = parts_of(tmp_path, bare)
    assert [run["ranks"] for run in found] == [1] * 6
    assert all(run["size_bytes"] == [8, 16] for run in found)
    assert reason(found[0]["nodes"]) == "3 processes are rank 0: built without MPI"
    cut = bare.replace("# Avg bus bandwidth    : 0\n", "", 1)
    assert all(run["is_complete"] is False for run in parts_of(tmp_path, cut))


def test_ranks_that_the_log_does_not_show_are_not_guessed(tmp_path: Path) -> None:
    lines = LOG.splitlines(keepends=True)
    no_rank = [line for line in lines if "Rank" not in line]
    run, _ = parts_of(tmp_path, "".join(no_rank))
    assert reason(run["ranks"]) == "no line of the log names a rank"
    some = [line for line in lines if "Rank  1" not in line and "Rank  2" not in line]
    run, _ = parts_of(tmp_path, "".join(some))
    assert run["ranks"] == 4  # as the bus bandwidth of the all-reduce confirms
    assert reason(run["nodes"]) == "the log names 2 of at least 4 ranks"
    cut = [line for line in lines if "Rank  0" not in line and "Rank  3" not in line]
    run, _ = parts_of(tmp_path, "".join(cut))
    assert reason(run["ranks"]) == "the log names 2 of at least 3 ranks"


def test_groups_that_run_beside_each_other(tmp_path: Path) -> None:
    text = LOG.replace("Rank  1 Group  0", "Rank  1 Group  1")
    run, _ = parts_of(tmp_path, text.replace("Rank  3 Group  0", "Rank  3 Group  1"))
    assert run["ranks"] == 2
    assert reason(run["nodes"]) == "2 groups ran at the same time"
    run, _ = parts_of(tmp_path, text)
    assert reason(run["ranks"]) == "2 groups ran at the same time"


def test_machines_of_one_name_cannot_be_counted(tmp_path: Path) -> None:
    run, _ = parts_of(tmp_path, LOG.replace("node-b", "node-a"))
    assert run["ranks"] == 4
    assert reason(run["nodes"]) == "2 ranks name device 0 of node-a"


def test_different_gpus_have_no_common_name(tmp_path: Path) -> None:
    run, _ = parts_of(tmp_path, LOG.replace("[0000:2d:00] NVIDIA H200", "[x] GB200"))
    assert reason(run["gpu"]) == "the GPUs differ: GB200, NVIDIA H200"


def test_what_no_measurement_can_be_is_no_value(tmp_path: Path) -> None:
    rows = """\
 0 0 float sum -1 5.10 0.00 0.00 0 5.00 0.00 0.00 0
 4096 1024 float sum -1 0.00 inf inf 0 -1.00 nan -nan 1e+06
 8192 2048 float sum -1 12.0 0.00 0.00 0 1.1e+06 0.01 0.01 0
"""
    out, into = parts_of(tmp_path, HEAD + NAMES + rows + FOOT)
    assert out["seconds"] == [5.1e-6, None, 12e-6]
    assert out["bus_bytes_per_second"] == [None, None, 0.0]
    assert into["seconds"] == [5e-6, None, 1.1]
    assert into["algorithm_bytes_per_second"] == [None, None, 0.01e9]
    assert into["wrong_values"] == [0, 10**6, 0]


def test_a_log_that_begins_within_its_table(tmp_path: Path) -> None:
    out, into = parts_of(tmp_path, ROWS + FOOT)
    assert out["bus_bytes_per_second"] == OUT["bus_bytes_per_second"]
    assert into["bus_bytes_per_second"] == IN["bus_bytes_per_second"]
    assert out["collective"] == "all_reduce"
    assert reason(out["ranks"]) == "no line of the log names a rank"


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
        rows = [one for one in words if len(one) > 10 and one[0].isdigit()]
        reading = nccl_tests.READER.read(Source(str(path), text))
        assert reading.node is not None
        assert sum("float" in one for one in words) == len(rows)
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


@pytest.mark.parametrize("text", [LOG, OLD, LOG + OLD + ALONE])
def test_broken_logs_are_read_as_far_as_they_go(text: str) -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines())
    for one in (text, tagged):
        assert read_broken(nccl_tests.READER, one, "run.log", 7, 150) > 100
