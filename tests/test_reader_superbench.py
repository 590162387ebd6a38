"""Results of SuperBench become the measurements of each node."""

import json
from pathlib import Path

from printed_measurements import (
    line_of,
    node_of,
    parts,
    read_broken,
    read_mutated,
    reason,
)
from speccheck.validator.sources.formats import superbench
from speccheck.validator.sources.reader import Reader

NODE = {
    "node": "gpu-07",
    "nccl-bw:nvlink/allreduce_16777216_busbw:0": 240.1,
    "nccl-bw:nvlink/allreduce_8388608_busbw:0": 170.9,
    "nccl-bw:nvlink/allreduce_8388608_algbw:0": 97.6,
    "nccl-bw:nvlink/allreduce_8388608_time:0": 85.9,
    "nccl-bw/alltoall_0_1:1024_time": 33.2,
    "nccl-bw/return_code:0": 0,
    "ib-loopback/IB_write_8388608_Avg_3:0": 23935.21,
    "ib-loopback/ib_read_bw_8388608:1:0": 24.6,
    "ib-loopback/ib_read_bw_4194304:1:0": 24.5,
    "mem-bw/H2D_Mem_BW:1": 25.8,
    "mem-bw/h2d_bw:0": 25.6,
    "mem-bw/d2h_bw:0": 24.3,
    "mem-bw/d2d_bw:0": 1118.0,
    "gemm-flops/BF16_TC:0": 264965.0,
    "gemm-flops/fp16_tc_flops:1": 279474.0,
    "gemm-flops/FP16:0": 33878.0,
    "kernel-launch/event_time:0": 0.005,
}
LINES = f"{json.dumps(NODE)}\n{json.dumps({**NODE, 'node': 'gpu-08'})}\n"


def test_a_line_is_a_node(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, LINES, "results-summary.jsonl")
    assert found == "superbench"
    runs = parts(node)
    assert [run.get("hosts") for run in runs] == [["gpu-07"], None, ["gpu-08"], None]
    assert line_of(node, "collective_runs", 2, "seconds") == 2
    run = runs[0]
    assert reason(run.pop("ranks")) == "the summary does not tell it"
    assert reason(run.pop("nodes")) == "the summary does not tell it"
    assert reason(run.pop("is_complete")) == "the summary does not tell it"
    assert run == {
        "tool": "superbench",
        "backend": "nccl",
        "collective": "all_reduce",
        "hosts": ["gpu-07"],
        "size_bytes": [8388608, 16777216],
        "seconds": [85.9e-6, None],
        "algorithm_bytes_per_second": [97.6e9, None],
        "bus_bytes_per_second": [170.9e9, 240.1e9],
    }
    assert (runs[1]["collective"], runs[1]["seconds"]) == ("all_to_all", [33.2e-6])


def test_transfers_copies_and_products(tmp_path: Path) -> None:
    _, node = node_of(tmp_path, LINES.splitlines()[0] + "\n", "results-summary.jsonl")
    write, read = parts(node, "rdma_transfers")
    assert write["name"] == "ib_write_bw"
    assert write["average_bytes_per_second"] == [float(round(23935.21 * 2**20))]
    assert read == {
        "tool": "superbench",
        "name": "ib_read_bw",
        "operation": "read",
        "size_bytes": [4194304, 8388608],
        "average_bytes_per_second": [24.5e9, 24.6e9],
    }
    to_gpu, to_host = parts(node, "copy_tests")
    assert (to_gpu["from_gpu"], to_gpu["to_gpu"]) == ([None, None], [0, 1])
    assert to_gpu["bytes_per_second"] == [25.6e9, 25.8e9]
    assert (to_host["from_gpu"], to_host["to_gpu"]) == ([0], [None])
    assert [
        (part["data_type"], part["gpu_index"], part["flops_per_second"])
        for part in parts(node, "matrix_products")
    ] == [("bfloat16", 0, 264965e9), ("float16", 1, 279474e9)]


def test_the_summary_of_one_node(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, json.dumps(NODE, indent=2), "results-summary.json")
    assert found == "superbench-json"
    assert len(parts(node)) == 2
    key = node.file.place(("collective_runs", 0, "seconds")).key
    assert key == "nccl-bw:nvlink/allreduce_16777216_busbw:0"


def test_a_line_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    _, node = node_of(tmp_path, LINES[:-40], "results-summary.jsonl")
    assert [run.get("hosts") for run in parts(node)] == [["gpu-07"], None]


def test_broken_texts_are_read_as_far_as_they_go() -> None:
    assert read_broken(superbench.READERS[0], LINES * 3, "a.jsonl", 9, 200) > 80


def test_odd_documents_are_read_as_far_as_they_go() -> None:
    reader = superbench.READERS[1]
    assert isinstance(reader, Reader)
    read_mutated(reader, NODE, 13, 150)
