"""What perftest prints becomes transfers, in bytes per second."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from printed_measurements import line_of, node_of, parts, read_broken, reason
from speccheck.validator.sources.formats import perftest
from speccheck.validator.sources.reader import Source

RULE = "-" * 87 + "\n"
HEAD = """\
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_3
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 PCIe relax order: ON\t\tLock-free      : OFF
 ibv_wr* API     : ON\t\tUsing DDP      : OFF
 TX depth        : 128
 CQ Moderation   : 1
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 3
 Max inline data : 0[B]
 rdma_cm QPs\t : OFF
 Data ex. method : Ethernet
"""
PEERS = """\
 local address: LID 0000 QPN 0x009b PSN 0x57bb8f RKey 0x1fd4bc VAddr 0x007f0e0c8aa000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:119:02
 remote address: LID 0000 QPN 0x0146 PSN 0x860b7f RKey 0x23c6bc VAddr 0x007fb25aea4000
"""
GBITS = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
Conflicting CPU frequency values detected: 800.000000 != 3800.000000.
 4194304    5000             392.10             391.88\t\t   0.011679
 8388608    5000             0.00               392.04\t\t   0.005842
"""
TEXT = RULE + HEAD + RULE + PEERS + RULE + GBITS + RULE
TRANSFER = {
    "tool": "perftest",
    "name": "ib_write_bw",
    "operation": "write",
    "is_bidirectional": False,
    "device": "mlx5_3",
    "mtu_bytes": 4096,
    "queue_pairs": 4,
    "link_layer": "Ethernet",
    "transport": "RoCE",
    "memory": "host",
    "is_complete": True,
    "size_bytes": [2**22, 2**23],
    "iterations": [5000, 5000],
    "peak_bytes_per_second": [392.10e9 / 8, None],
    "average_bytes_per_second": [391.88e9 / 8, 392.04e9 / 8],
}


def transfers(folder: Path, text: str) -> list[dict[str, object]]:
    found, node = node_of(folder, text)
    assert found == "perftest"
    return parts(node, "rdma_transfers")


def test_a_test_is_a_transfer(tmp_path: Path) -> None:
    assert transfers(tmp_path, TEXT) == [TRANSFER]
    _, node = node_of(tmp_path, TEXT)
    assert line_of(node, "rdma_transfers", 0, "device") == 2
    assert line_of(node, "rdma_transfers", 0, "average_bytes_per_second") == 23


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec"])
def test_megabytes_are_of_1024_times_1024(unit: str, tmp_path: Path) -> None:
    (item,) = transfers(tmp_path, TEXT.replace("Gb/sec", unit))
    assert item["average_bytes_per_second"] == [
        float(round(391.88 * 2**20)),
        float(round(392.04 * 2**20)),
    ]


LATENCY = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    \
t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.62           8.95         1.71     \t       1.72    \t0.09\t\
\t1.95    \t\t8.95
"""


def test_a_latency_has_its_times(tmp_path: Path) -> None:
    head = HEAD.replace("RDMA_Write BW", "Send Latency")
    (item,) = transfers(tmp_path, RULE + head + RULE + LATENCY + RULE)
    assert (item["name"], item["operation"]) == ("ib_send_lat", "send")
    assert (item["typical_seconds"], item["p99_seconds"]) == ([1.71e-6], [1.95e-6])
    assert "average_bytes_per_second" not in item


@pytest.mark.parametrize(
    ("title", "name", "is_bidirectional"),
    [
        ("RDMA_Read BW Test", "ib_read_bw", False),
        ("Send Bidirectional BW Test", "ib_send_bw", True),
        ("RDMA_Write Bidirectional Post List BW Test", "ib_write_bw", True),
    ],
)
def test_the_title_tells_what_was_done(
    title: str, name: str, *, is_bidirectional: bool, tmp_path: Path
) -> None:
    (item,) = transfers(tmp_path, TEXT.replace("RDMA_Write BW Test", title))
    assert (item["name"], item["is_bidirectional"]) == (name, is_bidirectional)


@pytest.mark.parametrize(
    ("link", "connection", "transport"),
    [("IB", "RC", "IB"), ("Ethernet", "RC", "RoCE"), ("Ethernet", "SRD", "EFA")],
)
def test_the_transport(
    link: str, connection: str, transport: str, tmp_path: Path
) -> None:
    text = TEXT.replace("type       : Ethernet", f"type       : {link}")
    (item,) = transfers(tmp_path, text.replace("type : RC", f"type : {connection}"))
    assert item["transport"] == transport


def test_where_the_buffers_lie(tmp_path: Path) -> None:
    cuda = (
        "initializing CUDA\ncreating CUDA Ctx\nallocated GPU buffer address at 7f00\n"
    )
    (item,) = transfers(tmp_path, cuda + TEXT)
    assert item["memory"] == "gpu"
    (item,) = transfers(
        tmp_path, TEXT.replace(" GID index", " Use ROCm memory : ON\n GID")
    )
    assert item["memory"] == "gpu"
    (item,) = transfers(tmp_path, HEAD + RULE + GBITS + RULE)
    assert reason(item["memory"]) == "the log does not show what was printed before"


def test_a_test_that_died(tmp_path: Path) -> None:
    (item,) = transfers(tmp_path, TEXT.removesuffix(RULE))
    assert item["is_complete"] is False
    died = RULE + HEAD + RULE + PEERS + " Failed status 12: wr_id 0 syndrom 0x81\n"
    (item,) = transfers(tmp_path, died)
    assert item["is_complete"] is False
    assert reason(item["size_bytes"]) == "no row was measured"
    (item,) = transfers(tmp_path, TEXT[: TEXT.index("0.011679") + 4])
    assert reason(item["size_bytes"]) == "no row was measured"


def test_both_sides_of_a_loopback(tmp_path: Path) -> None:
    rows = GBITS.splitlines(keepends=True)
    both = RULE + RULE + HEAD + HEAD + RULE + rows[0] * 2 + rows[2] * 2 + rows[3] + RULE
    found = transfers(tmp_path, both + rows[3] + RULE)
    assert found == [TRANSFER, TRANSFER]


def test_one_after_the_other(tmp_path: Path) -> None:
    other = TEXT.replace("mlx5_3", "mlx5_4")
    found = transfers(tmp_path, TEXT + other)
    assert found == [TRANSFER, {**TRANSFER, "device": "mlx5_4"}]


def test_a_test_that_goes_on_is_one_transfer(tmp_path: Path) -> None:
    rows = GBITS.splitlines(keepends=True)
    (item,) = transfers(tmp_path, RULE + HEAD + RULE + rows[0] + rows[2] * 3)
    assert item["size_bytes"] == [2**22] * 3


@needs_corpus
def test_the_published_log_holds_what_its_text_holds() -> None:
    path = corpus_folder("logs/fabric") / "ib_loopback_all_sizes.log"
    text = path.read_text("utf-8")
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    node = perftest.READER.read(Source(str(path), text)).node
    assert node is not None
    client, server = parts(node, "rdma_transfers")
    assert len(rows) == 24
    for item, expected in ((client, rows[:23]), (server, rows[23:])):
        assert item["size_bytes"] == [int(row[0]) for row in expected]
        assert item["iterations"] == [int(row[1]) for row in expected]
        for leaf, column in (("peak", 2), ("average", 3)):
            assert item[f"{leaf}_bytes_per_second"] == [
                float(round(float(row[column]) * 2**20)) for row in expected
            ]
        assert (item["name"], item["device"], item["memory"]) == (
            "ib_write_bw",
            "ib0",
            "host",
        )


def test_broken_texts_are_read_as_far_as_they_go() -> None:
    assert read_broken(perftest.READER, TEXT + LATENCY, "a.log", 5, 200) > 100
