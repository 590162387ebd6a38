"""Logs of NCCL: each line of each release becomes exactly its leaf."""

import random
import time
from pathlib import Path

import pytest

from nccl_logs import RELEASES, log
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.sources.capture import Capture
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.nccl_log import add_communicators

HEAD = "gpu-0:4000:4001 [0] NCCL INFO "
INIT = "comm 0xa0 rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x5 - Init "
# What every log of one started rank tells besides.
ALWAYS = {
    "id": "0x5",
    "ranks": 2,
    "ranks_seen": 1,
    "finished_ranks": [],
    "unfinished_ranks": [0],
    "is_complete": False,
}
NO_LINKS = {
    "links_by_pointer": 0,
    "links_by_host_memory": 0,
    "links_by_network": 0,
    "links_by_gpudirect": 0,
    "links_by_collnet": 0,
    "socket_links": 0,
}
INTERNAL = {"network_plugin": "internal"}

# Key of the signature, the line as a release writes it, the leaves that it gives.
SIGNATURES: list[tuple[str, str, dict[str, object]]] = [
    (
        "version",
        "NCCL version 2.18.3+cuda12.2",
        {"nccl_version": "2.18.3", "cuda_version": "12.2"},
    ),
    (
        "bootstrap-old",
        "Bootstrap : Using [0]lo:127.0.0.1<0>",
        {"bootstrap_interface": "lo"},
    ),
    (
        "bootstrap-old 2.8",
        "Bootstrap : Using eth0:10.0.0.1<0>",
        {"bootstrap_interface": "eth0"},
    ),
    (
        "bootstrap-new",
        "Bootstrap: Using bond0:10.0.0.1<0>",
        {"bootstrap_interface": "bond0"},
    ),
    (
        "no-plugin-old",
        "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
        {"missing_plugin": "libnccl-net.so", **INTERNAL},
    ),
    (
        "no-plugin-old 2.18",
        (
            "NET/Plugin : Plugin load (libnccl-net-x.so) returned 2 : "
            "libnccl-net-x.so: cannot open shared object file: No such file"
        ),
        {"missing_plugin": "libnccl-net-x.so"},
    ),
    ("internal-plugin", "NET/Plugin: Using internal network plugin.", INTERNAL),
    (
        "could-not-find",
        "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        {"missing_plugin": "libnccl-net.so", **INTERNAL},
    ),
    (
        "could-not-find 2.27",
        "NET/Plugin: Could not find: libnccl-net.so",
        {"missing_plugin": "libnccl-net.so"},
    ),
    (
        "plugin-loaded",
        "Successfully loaded external network plugin libnccl-net-x.so",
        {"loaded_plugins": ["libnccl-net-x.so"]},
    ),
    (
        "plugin-assigned",
        "Assigned NET plugin Libfabric to comm",
        {"network": "Libfabric", "network_plugin": "Libfabric"},
    ),
    ("using-network", "Using network IB", {"network": "IB", **INTERNAL}),
    (
        "using-network of a plugin",
        "Using network AWS Libfabric",
        {"network": "AWS Libfabric", "network_plugin": "AWS Libfabric"},
    ),
    (
        "ib-none",
        "NET/IB : No device found.",
        {"verbs_failure": "no device found"},
    ),
    (
        "verbs-missing",
        "Failed to open libibverbs.so[.1]",
        {"verbs_failure": "libibverbs.so cannot be opened"},
    ),
    (
        "ib-list",
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_2:1/RoCE [RO]; OOB ib0:10.0.0.1<0>",
        {"adapters": ["mlx5_0:1/IB", "mlx5_2:1/RoCE"], "network": "IB", **INTERNAL},
    ),
    (
        "gdr-hca",
        "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
        {"gpudirect_adapters": ["mlx5_0"]},
    ),
    (
        "gdr-hca disabled",
        "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'",
        {"no_gpudirect_adapters": ["mlx5_1"]},
    ),
    (
        "gdr-hca pair",
        "GPU Direct RDMA Enabled for GPU 81000 / HCA 1 (distance 6 <= 7), read 0",
        {"gpudirect_pairs": 1},
    ),
    (
        "gdr-hca pair too far",
        "GPU Direct RDMA Disabled for GPU 3 / HCA 0 (distance 9 > 4)",
        {"no_gpudirect_pairs": 1},
    ),
    ("dmabuf", "DMA-BUF is available on GPU device 0", {}),
    (
        "chan-gdr",
        "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IBext_v8/0(1)/GDRDMA/Shared",
        {
            **NO_LINKS,
            "links_by_network": 1,
            "links_by_gpudirect": 1,
            "network": "IBext_v8",
            "network_plugin": "IBext_v8",
        },
    ),
    (
        "chan-net",
        "Channel 00 : 0[1a000] -> 1[1b000] [send] via NET/Socket/0",
        {
            **NO_LINKS,
            "links_by_network": 1,
            "socket_links": 1,
            "network": "Socket",
            **INTERNAL,
        },
    ),
    (
        "chan-p2p",
        "Channel 03/0 : 0[0] -> 1[1] via P2P/CUMEM/read comm 0xa0 nRanks 02",
        {**NO_LINKS, "links_by_pointer": 1},
    ),
    (
        "chan-p2p 2.4",
        "Ring 00 : 0[0] -> 1[1] via P2P/IPC",
        {**NO_LINKS, "links_by_pointer": 1},
    ),
    (
        "chan-shm-old",
        "Channel 00 : 0[1a000] -> 1[1b000] via direct shared memory",
        {**NO_LINKS, "links_by_host_memory": 1},
    ),
    (
        "chan-shm",
        "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
        {**NO_LINKS, "links_by_host_memory": 1},
    ),
    (
        "collnet",
        "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA",
        {**NO_LINKS, "links_by_collnet": 1},
    ),
    (
        "nvls-ok",
        "NVLS multicast support is available on dev 0",
        {"gpus_with_multicast": 1},
    ),
    (
        "nvls-no",
        "NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)",
        {"gpus_without_multicast": 1},
    ),
    ("nvls-tree", "Connected NVLS tree", {"has_nvls_tree": True}),
    (
        "rings",
        "Connected all rings, use ring PXN 1 GDR 0",
        {"has_rings": True, "ring_has_pxn": True, "ring_has_gpudirect": False},
    ),
    ("trees", "Connected all trees", {"has_trees": True}),
    (
        "chan-count",
        (
            "24 coll channels, 8 collnet channels, 16 nvls channels, 32 p2p channels, "
            "2 p2p channels per peer"
        ),
        {
            "coll_channels": 24,
            "collnet_channels": 8,
            "nvls_channels": 16,
            "p2p_channels": 32,
            "p2p_channels_per_peer": 2,
        },
    ),
    (
        "nnodes",
        "comm 0xa0 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 1",
        {"nodes": 2, "ranks_per_node": 1, "is_mnnvl": True},
    ),
    (
        "mnnvl",
        (
            "MNNVL busId 0x1000 fabric UUID 7a4a.c4fe cliqueId 0x7ffe state 3 "
            "healthMask 0x0"
        ),
        {"nvlink_cliques": 1},
    ),
    (
        "mnnvl without a fabric",
        "MNNVL busId 0x1000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0",
        {"nvlink_cliques": 0},
    ),
    (
        "init-done",
        f"{INIT}COMPLETE",
        {"finished_ranks": [0], "unfinished_ranks": []},
    ),
    (
        "init-timings",
        "Init timings: rank 0 nranks 2 total 1.08 (kernels 0.51, bootstrap 0.22)",
        {"init_seconds": 1.08},
    ),
    (
        "tuning-old",
        "805306368 Bytes -> Algo 1 proto 2 time 3970.683594",
        {
            "tuned_collective": [None],
            "tuned_bytes": [805306368],
            "tuned_algorithm": ["RING"],
            "tuned_protocol": ["SIMPLE"],
        },
    ),
    (
        "tuning-new",
        "AllReduce: 4096 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..1}",
        {
            "tuned_collective": ["AllReduce"],
            "tuned_bytes": [4096],
            "tuned_algorithm": ["NVLS_TREE"],
            "tuned_protocol": ["LL128"],
        },
    ),
    (
        "ofi-provider",
        "NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)",
        {"libfabric_provider": "efa", "libfabric_adapters": 16},
    ),
]
VARIABLES = [
    ("env", "NCCL_IB_TC set by environment to 106.", "NCCL_IB_TC", "106", False),
    ("env of old", "NCCL_IB_HCA set to mlx5_0", "NCCL_IB_HCA", "mlx5_0", False),
    (
        "ofi-env",
        "NET/OFI Adding NCCL_BUFFSIZE=8388608 to environment",
        "NCCL_BUFFSIZE",
        "8388608",
        True,
    ),
    (
        "ofi-topo",
        (
            "NET/OFI Running on p4d.24xlarge platform, Setting NCCL_TOPO_FILE "
            "environment variable to /opt/p4d.xml"
        ),
        "NCCL_TOPO_FILE",
        "/opt/p4d.xml",
        True,
    ),
]


def read(text: str) -> Node:
    """What a text tells."""
    capture = Capture("nccl.log", "NCCL log")
    add_communicators(capture, text)
    return capture.node()


def communicators(text: str) -> list[dict[str, object]]:
    found = read(text).data.get("communicators", [])
    assert isinstance(found, list)
    return found


def started(line: str) -> str:
    """A log of one rank that has begun, and says one thing more."""
    return f"{HEAD}{INIT}START\n{HEAD}{line}\n"


@pytest.mark.parametrize(
    ("line", "leaves"), [one[1:] for one in SIGNATURES], ids=[o[0] for o in SIGNATURES]
)
def test_a_line_gives_exactly_its_leaf(line: str, leaves: dict[str, object]) -> None:
    (found,) = communicators(started(line))
    assert found == {**ALWAYS, **leaves}


@pytest.mark.parametrize(
    ("line", "leaves"),
    [o[1:] for o in SIGNATURES if o[2] and o[0] != "nnodes"],
    ids=[o[0] for o in SIGNATURES if o[2] and o[0] != "nnodes"],
)
def test_each_leaf_knows_its_line(line: str, leaves: dict[str, object]) -> None:
    node = read(started(line))
    spans = {name: node.file.place(("communicators", 0, name)).span for name in leaves}
    of_first = {"finished_ranks", "unfinished_ranks"}
    assert {
        name: span.line if span else 0
        for name, span in spans.items()
        if leaves[name] != 0 and name not in of_first
    } == {name: 2 for name in leaves if leaves[name] != 0 and name not in of_first}


@pytest.mark.parametrize(
    ("line", "name", "value", "is_of_plugin"),
    [one[1:] for one in VARIABLES],
    ids=[one[0] for one in VARIABLES],
)
def test_a_variable_is_read_with_who_set_it(
    line: str, name: str, value: str, *, is_of_plugin: bool
) -> None:
    found = read(started(line)).data["variables_in_force"]
    who = "plugin" if is_of_plugin else "environment"
    assert found == [{"name": name, "value": value, "set_by": who}]


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[1,3]<stdout>:",
        "3: ",
        "[rank3]:",
        "[default0]:",
        "2026-11-21T18:00:00.123Z ",
        "[2026-11-21 18:00:00] ",
        "(RayWorker pid=12, ip=10.0.0.1) ",
        "job-worker-3: | ",
        "\x1b[36m",
    ],
)
def test_what_stands_before_a_line_does_not_matter(prefix: str) -> None:
    text = log(nodes=2, gpus=2)
    lines = [f"{prefix}{line}" for line in text.splitlines()]
    assert communicators("\n".join(lines)) == communicators(text)


@pytest.mark.parametrize("release", RELEASES)
def test_the_log_of_a_release_is_whole(release: str) -> None:
    node = read(log(release=release))
    (found,) = communicators(log(release=release))
    assert found["nccl_version"] == release
    assert (found["ranks"], found["nodes"], found["is_complete"]) == (16, 2, True)
    assert (found["links_by_pointer"], found["links_by_gpudirect"]) == (14, 4)
    assert not node.partly_listed


@pytest.mark.parametrize("release", ["2.12.12", "2.18.3", "2.27.7"])
def test_communicators_of_one_log_stay_apart(release: str) -> None:
    first, second = log(release=release, gpus=2), log(release=release, gpus=2)
    second = second.replace("0x49bbd7790311d5eb", "0x7700000000000001")
    second = second.replace("comm 0x55", "comm 0x66").replace("/GDRDMA", "")
    found = communicators(first + second)
    assert [one["links_by_gpudirect"] for one in found] == [4, 0]
    assert [one["ranks_seen"] for one in found] == [4, 4]


def test_lines_that_threads_write_into_one_another_are_told_apart() -> None:
    text = f"{HEAD}{INIT}START{HEAD}Using network IB\n"
    (found,) = communicators(text)
    assert found["network"] == "IB"


def test_links_are_counted_once_however_often_a_collector_shows_them() -> None:
    link = f"{HEAD}Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
    (found,) = communicators(f"{HEAD}{INIT}START\n{link}{link}")
    assert found["links_by_pointer"] == 1


def test_what_ranks_tell_differently_is_told_of_all() -> None:
    text = log(nodes=2, gpus=1, release="2.18.3")
    text = text.replace("gpu-1:4000:4001 [0] NCCL INFO Using network IB\n", "")
    text += "gpu-1:4000:4001 [0] NCCL INFO Using network Socket\n"
    (found,) = communicators(text)
    assert found["network"] == "IB, Socket"


def test_a_log_of_one_rank_is_no_whole_communicator() -> None:
    own = [line for line in log().splitlines() if "gpu-0:4000:" in line]
    node = read("\n".join(own))
    (found,) = communicators("\n".join(own))
    assert (found["ranks"], found["ranks_seen"], found["is_complete"]) == (16, 1, False)
    assert node.partly_listed == {"communicators"}
    assert "1 of 16 ranks" in node.file.cut_short["communicators"]


def test_a_log_that_is_cut_off_keeps_what_was_read() -> None:
    text = log()
    node = read(text[: len(text) // 2])
    (found,) = communicators(text[: len(text) // 2])
    assert (found["network"], found["is_complete"]) == ("IB", False)
    assert node.partly_listed == {"communicators"}


def test_warnings_are_counted_and_the_log_may_break_off() -> None:
    warning = "gpu-0:4000:4001 [0] misc/socket.cc:484 NCCL WARN Connect failed\n"
    node = read(log() + warning)
    (found,) = communicators(log() + warning)
    assert found["warnings"] == 1
    assert "NCCL warned" in node.file.cut_short["communicators"]


def test_credentials_in_a_log_are_not_kept() -> None:
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3h"
    lines = (
        f"NCCL_X_Y set by environment to {token}",
        "NCCL_PLUGIN_TOKEN set by environment to topsecretvalue",
        "WANDB_API_KEY set by environment to 0123456789abcdef",
    )
    node = read("".join(started(line) for line in lines))
    shown = str(node.data)
    assert token not in shown
    assert "topsecretvalue" not in shown
    assert "WANDB" not in shown


def test_the_reader_leaves_tests_with_a_table_to_theirs(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log(), encoding="utf-8")
    status, (file,) = read_file(str(path))
    assert (status.format, file.role) == ("nccl-log", "measurement")
    assert status.confidence < 0.7


def test_a_text_without_a_line_of_nccl_is_none(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("grep 'NCCL INFO' train.log shows nothing\n", encoding="utf-8")
    status, files = read_file(str(path))
    assert (status.state, files) == ("unrecognised", [])


@pytest.mark.parametrize("seed", range(20))
def test_torn_and_shuffled_logs_never_raise(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    text = log(release=chance.choice(RELEASES), gpus=chance.choice([1, 2, 8]))
    lines = text.splitlines()
    chance.shuffle(lines)
    read("\n".join(lines))
    read("\n".join(line[: chance.randrange(len(line) + 1)] for line in lines))
    at = sorted(chance.randrange(len(text)) for _ in range(2))
    read(text[at[0] : at[1]])
    letters = list(text)
    for _ in range(200):
        letters[chance.randrange(len(letters))] = chance.choice("\n :[]0x<>/\x00")
    read("".join(letters))


def test_the_time_grows_with_the_text_and_not_with_its_square() -> None:
    def seconds(nodes: int) -> float:
        text = log(nodes=nodes)
        begin = time.perf_counter()
        read(text)
        return time.perf_counter() - begin

    seconds(10)
    small = min(seconds(40) for _ in range(3))
    assert min(seconds(320) for _ in range(2)) < 24 * small  # eight times the text
