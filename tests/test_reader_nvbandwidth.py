"""What nvbandwidth prints becomes tests of copies, with the way of the bytes."""

import json
from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from printed_measurements import (
    line_of,
    node_of,
    parts,
    read_broken,
    read_mutated,
    reason,
)
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats import nvbandwidth
from speccheck.validator.sources.reader import Reader, Source

HEAD = """\
nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 12080
CUDA Driver Version: 12080
Driver Version: 570.124.06

node-a
Device 0: NVIDIA H100 80GB HBM3 (00000000:19:00)
Device 1: NVIDIA H100 80GB HBM3 (00000000:2d:00)

"""
HOST = """\
Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.63     55.64

SUM host_to_device_memcpy_ce 111.27

"""
PAIRS = """\
Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    393.59
 1    393.36       N/A

SUM device_to_device_memcpy_read_ce 786.95

Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)
           0         1
 0       N/A    385.00
 1    384.00       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_write1 769.00

memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    770.00
 1    768.00       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_total 1538.00

Running all_to_host_memcpy_sm.
memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     40.10     40.20

SUM all_to_host_memcpy_sm 80.30

Running device_to_device_memcpy_write_sm.
memcpy SM GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0      0.00    380.00
 1    381.00      0.00

Waived:
Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    772.58    773.10

SUM host_device_latency_sm 1545.68

Running device_local_copy.
memcpy local GPU(column) bandwidth (GB/s)
           0         1
 0   1519.07   1518.93

SUM device_local_copy 3038.00

NOTE: The reported results may not reflect the full capabilities of the platform.
"""
TEXT = HEAD + HOST + PAIRS
SHARED = {"tool": "nvbandwidth", "tool_version": "v0.8", "gpu": "NVIDIA H100 80GB HBM3"}


def copies(folder: Path, text: str) -> list[dict[str, object]]:
    found, node = node_of(folder, text)
    assert found == "nvbandwidth"
    return parts(node, "copy_tests")


def test_each_matrix_is_a_test(tmp_path: Path) -> None:
    _, node = node_of(tmp_path, TEXT)
    found = parts(node, "copy_tests")
    assert found[0] == {
        **SHARED,
        "name": "host_to_device_memcpy_ce",
        "direction": "host_to_device",
        "method": "copy_engine",
        "is_bidirectional": False,
        "is_all_at_once": False,
        "from_gpu": [None, None],
        "to_gpu": [0, 1],
        "bytes_per_second": [55.63e9, 55.64e9],
    }
    assert found[2] == {
        **SHARED,
        "name": "device_to_device_bidirectional_memcpy_write_ce",
        "direction": "device_to_device",
        "method": "copy_engine",
        "operation": "write",
        "is_bidirectional": True,
        "is_sum_of_both_ways": False,
        "is_all_at_once": False,
        "from_gpu": [0, 0, 1, 1],
        "to_gpu": [0, 1, 0, 1],
        "bytes_per_second": [None, 385e9, 384e9, None],
    }
    assert line_of(node, "copy_tests", 0, "bytes_per_second") == 13
    assert [
        (item["direction"], item["from_gpu"], item["to_gpu"], item["bytes_per_second"])
        for item in (found[1], *found[4:])
    ] == [
        (
            "device_to_device",
            [0, 0, 1, 1],
            [0, 1, 0, 1],
            [None, 393.59e9, 393.36e9, None],
        ),
        ("device_to_host", [0, 1], [None, None], [40.1e9, 40.2e9]),
        # The arrow points the other way: the columns are the sources.
        ("device_to_device", [0, 1, 0, 1], [0, 0, 1, 1], [None, 380e9, 381e9, None]),
        ("local", [0, 1], [0, 1], [1519.07e9, 1518.93e9]),
    ]
    assert [finding["is_sum_of_both_ways"] for finding in found[2:4]] == [False, True]
    assert [finding["is_all_at_once"] for finding in found] == [False] * 4 + [
        True,
        False,
        False,
    ]
    assert [finding["method"] for finding in found[4:6]] == ["sm", "sm"]


def test_a_test_without_a_result_has_none(tmp_path: Path) -> None:
    text = (
        HEAD + "Running device_to_device_memcpy_read_ce.\n[CUDA_ERROR_UNKNOWN]\n" + HOST
    )
    broken, whole = copies(tmp_path, text)
    assert broken["name"] == "device_to_device_memcpy_read_ce"
    assert reason(broken["bytes_per_second"]) == "no result was printed"
    assert whole["bytes_per_second"] == [55.63e9, 55.64e9]


def test_a_matrix_that_is_cut_off_has_the_cells_that_are_whole(tmp_path: Path) -> None:
    text = HEAD + HOST
    (cut,) = copies(tmp_path, text[: text.index("55.64") + 3])
    assert cut["bytes_per_second"] == [55.63e9]
    (empty,) = copies(tmp_path, text[: text.index(" 0     55.63")])
    assert reason(empty["bytes_per_second"]) == "its matrix has no row"


def test_waived_tests_are_not_shown(tmp_path: Path) -> None:
    text = HEAD + "Running device_to_device_memcpy_read_ce.\nWaived: \n" + HOST
    assert len(copies(tmp_path, text)) == 1


def test_processes_of_several_nodes(tmp_path: Path) -> None:
    devices = """\
Process  0 (node-a): device 0: NVIDIA GB200 (00000008:01:00)
Process  1 (node-b): device 0: NVIDIA GB200 (00000008:01:00)

"""
    (item,) = copies(tmp_path, "nvbandwidth Version: v0.8\n\n" + devices + HOST)
    assert item["gpu"] == "NVIDIA GB200"


CONTENT = {
    "nvbandwidth": {
        "CUDA Runtime Version": 12080,
        "GPU Device list": [
            "0: NVIDIA H100 80GB HBM3 (PCI:0000:19:00.0): (node-a)",
            "1: NVIDIA H100 80GB HBM3 (PCI:0000:2d:00.0): (node-a)",
        ],
        "version": "v0.8",
        "testcases": [
            {
                "name": "device_to_device_memcpy_read_ce",
                "status": "Passed",
                "bandwidth_description": (
                    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
                ),
                "bandwidth_matrix": [["N/A", "393.59"], ["393.36", "N/A"]],
                "sum": 786.95,
            },
            {"name": "host_to_device_memcpy_sm", "status": "Waived"},
            {"name": "device_local_copy", "status": "Error", "error": "no memory"},
            {"name": "x", "status": "Passed", "bandwidth_matrix": [[3], "y", [[]]]},
            7,
        ],
    }
}


def test_what_it_writes_with_j(tmp_path: Path) -> None:
    found, node = node_of(tmp_path, json.dumps(CONTENT), "result.json")
    assert found == "nvbandwidth-json"
    pairs, local = parts(node, "copy_tests")
    assert pairs == {
        **SHARED,
        "name": "device_to_device_memcpy_read_ce",
        "direction": "device_to_device",
        "method": "copy_engine",
        "operation": "read",
        "is_bidirectional": False,
        "is_all_at_once": False,
        "from_gpu": [0, 0, 1, 1],
        "to_gpu": [0, 1, 0, 1],
        "bytes_per_second": [None, 393.59e9, 393.36e9, None],
    }
    assert reason(local["bytes_per_second"]) == "no memory"


@needs_corpus
def test_the_published_log_holds_what_its_text_holds() -> None:
    (path,) = corpus_folder("logs/nvbandwidth").glob("*.log")
    text = path.read_text("utf-8")
    node = nvbandwidth.READERS[0].read(Source(str(path), text)).node
    assert node is not None
    blocks = [block for block in text.split("Running ")[1:] if "(GB/s)" in block]
    expected = []
    for block in blocks:
        rows = [line.split() for line in block.splitlines()[3:]]
        cells = [word for row in rows[: rows.index([])] for word in row[1:]]
        expected.append(
            (block.partition(".")[0], [float(f"{item}e9") for item in cells])
        )
    assert [
        (part["name"], part["bytes_per_second"]) for part in parts(node, "copy_tests")
    ] == expected
    assert len(expected) == 14


def test_broken_texts_are_read_as_far_as_they_go() -> None:
    assert read_broken(nvbandwidth.READERS[0], TEXT, "a.log", 3, 200) > 100


@pytest.mark.parametrize("content", ["[]", "{}", '{"testcases": 3}', '{"x": [1]}'])
def test_another_key_of_that_name_is_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"nvbandwidth": {content}}}', "utf-8")
    assert read_file(str(path))[0].state == "unrecognised"


def test_odd_documents_are_read_as_far_as_they_go() -> None:
    reader = nvbandwidth.READERS[1]
    assert isinstance(reader, Reader)
    read_mutated(reader, CONTENT, 13, 150)
