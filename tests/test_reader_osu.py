"""Tables of the OSU micro-benchmarks become runs, as far as they tell of them."""

from pathlib import Path

from printed_measurements import line_of, node_of, parts, read_broken, reason
from speccheck.validator.sources.formats import osu

REDUCE = """\
srun: job 77 has been allocated resources

# OSU MPI-CUDA Allreduce Latency Test v7.0
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
8388608              4630.58           4619.50           4642.46         100
16777216             8630.58           8619.50           8642.46         100
"""
PAIR = """\
# OSU MPI Bandwidth Test v7.5
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1                       1.47
[node-a:77] a warning of the library
4194304             24380.65
"""
GATHER = """\
# OSU MPI Allgather Latency Test v5.9
# Size       Avg Latency(us)
1048576               120.50
"""


def test_a_collective_of_mpi(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, REDUCE)
    assert found == "osu"
    (run,) = parts(node)
    assert reason(run.pop("ranks")) == "the tool does not print how many"
    assert reason(run.pop("is_complete")) == "the tool prints no last line"
    for leaf in ("algorithm_bytes_per_second", "bus_bytes_per_second"):
        assert reason(run.pop(leaf)) == "no value was measured"
    assert run == {
        "tool": "osu",
        "tool_version": "7.0",
        "backend": "mpi",
        "collective": "all_reduce",
        "size_bytes": [8388608, 16777216],
        "seconds": [0.00464246, 0.00864246],
    }
    assert line_of(node, "collective_runs", 0, "collective") == 3


def test_of_two_ranks(tmp_path: Path) -> None:
    (run,) = parts(node_of(tmp_path, PAIR)[1])
    assert (run["collective"], run["ranks"]) == ("point_to_point", 2)
    assert run["size_bytes"] == [1, 4194304]
    assert run["algorithm_bytes_per_second"] == [1.47e6, 24380.65e6]


def test_the_size_of_a_share_is_not_that_of_the_whole(tmp_path: Path) -> None:
    (run,) = parts(node_of(tmp_path, GATHER)[1])
    assert run["collective"] == "all_gather"
    assert run["seconds"] == [120.5e-6]
    expected = "the size is that of one rank, and the ranks are not told"
    assert reason(run["size_bytes"]) == expected


def test_results_that_were_compared(tmp_path: Path) -> None:
    text = REDUCE.replace("  Iterations", "  Validation")
    text = text.replace("4642.46         100", "4642.46        Pass")
    text = text.replace("8642.46         100", "8642.46        Fail")
    (run,) = parts(node_of(tmp_path, text)[1])
    assert (run["is_compared"], run["out_of_bounds"]) == (True, 1)


def test_several_tests_in_one_log(tmp_path: Path) -> None:
    tagged = "".join(f"[1,0]<stdout>: {line}\n" for line in GATHER.splitlines())
    runs = parts(node_of(tmp_path, REDUCE + PAIR + tagged)[1])
    assert [run["tool_version"] for run in runs] == ["7.0", "7.5", "5.9"]


def test_another_test_is_shown_without_a_collective(tmp_path: Path) -> None:
    text = "# OSU MPI Latency Test v5.7\n# Size          Latency (us)\n8   1.20\n"
    (run,) = parts(node_of(tmp_path, text)[1])
    assert reason(run["collective"]) == "is called 'latency'"
    assert run["seconds"] == [1.2e-6]


def test_a_row_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    (run,) = parts(node_of(tmp_path, PAIR[:-2])[1])
    assert run["size_bytes"] == [1]


def test_broken_texts_are_read_as_far_as_they_go() -> None:
    assert read_broken(osu.READER, REDUCE + PAIR + GATHER, "a.log", 11, 200) > 100
