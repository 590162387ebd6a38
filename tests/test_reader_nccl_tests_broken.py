"""Logs of nccl-tests that are cut, mixed or lack something show what is in them."""

from pathlib import Path

import pytest

from nccl_tests_logs import (
    ALONE,
    ALONE_FOOT,
    ALONE_ROWS,
    FOOT,
    HEAD,
    IN,
    LOG,
    NAMES,
    OLD,
    OUT,
    ROWS,
)
from printed_measurements import line_of, node_of, parts, parts_of, read_broken, reason
from speccheck.validator.sources.formats import nccl_tests


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
            "slurmstepd: error: *** JOB 7 CANCELLED AT 10:00 DUE TO TIME LIMIT ***\n",
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
 9000 2250 float sum -1 9e307 9e307 9e307 9e307 1.00 0.01 0.01 0
"""
    out, into = parts_of(tmp_path, HEAD + NAMES + rows + FOOT)
    assert out["seconds"] == [5.1e-6, None, 12e-6, None]
    assert out["bus_bytes_per_second"] == [None, None, 0.0, None]
    assert into["seconds"] == [5e-6, None, 1.1, 1e-6]
    assert into["algorithm_bytes_per_second"] == [None, None, 0.01e9, 0.01e9]
    assert into["wrong_values"] == [0, 10**6, 0, 0]


def test_a_log_that_begins_within_its_table(tmp_path: Path) -> None:
    out, into = parts_of(tmp_path, ROWS + FOOT)
    assert out["bus_bytes_per_second"] == OUT["bus_bytes_per_second"]
    assert into["bus_bytes_per_second"] == IN["bus_bytes_per_second"]
    assert out["collective"] == "all_reduce"
    assert reason(out["ranks"]) == "no line of the log names a rank"


@pytest.mark.parametrize("text", [LOG, OLD, LOG + OLD + ALONE])
def test_broken_logs_are_read_as_far_as_they_go(text: str) -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines())
    for item in (text, tagged):
        assert read_broken(nccl_tests.READER, item, "run.log", 7, 150) > 100
