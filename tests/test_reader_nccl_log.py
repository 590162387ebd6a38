"""Logs of NCCL: each line of each release becomes exactly its leaf."""

import random
import time
from pathlib import Path

import pytest

from nccl_logs import RELEASES, log
from nccl_signatures import ALWAYS, HEAD, INIT, SIGNATURES
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.sources.capture import Capture
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.nccl_log import add_communicators

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
    """Return what a text tells."""
    capture = Capture("nccl.log", "NCCL log")
    add_communicators(capture, text)
    return capture.node()


def communicators(text: str) -> list[dict[str, object]]:
    found = read(text).data.get("communicators", [])
    assert isinstance(found, list)
    return found


def started(line: str) -> str:
    """Return a log of one rank that has begun, and says one thing more."""
    return f"{HEAD}{INIT}START\n{HEAD}{line}\n"


@pytest.mark.parametrize(
    ("line", "leaves"),
    [item[1:] for item in SIGNATURES],
    ids=[o[0] for o in SIGNATURES],
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
    [item[1:] for item in VARIABLES],
    ids=[item[0] for item in VARIABLES],
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
    assert [finding["links_by_gpudirect"] for finding in found] == [4, 0]
    assert [finding["ranks_seen"] for finding in found] == [4, 4]


def test_parts_of_a_communicator_are_told_apart_by_their_colour() -> None:
    """Before NCCL 2.31 they have no number; every other rank is of another colour."""
    lines = []
    for rank in (0, 1, 2, 3):
        name = (
            f"h:{rank}:9 [0] NCCL INFO ncclCommSplit comm 0xb{rank} rank {rank // 2} "
            f"nranks 2 cudaDev 0 busId 1000 parent 0xa{rank} splitCount 1 "
            f"color {rank % 2} key 0"
        )
        way = "IB" if rank % 2 else "Socket"
        lines += [
            f"{name}- Init START",
            f"h:{rank}:9 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] via NET/{way}/0",
            f"{name} - Init COMPLETE",
        ]
    even, odd = communicators("\n".join(lines))
    assert (even["socket_links"], odd["socket_links"]) == (2, 0)
    assert (even["is_complete"], odd["is_complete"]) == (True, True)


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


def test_a_log_without_the_lines_that_are_alike_is_no_stuck_start() -> None:
    text = f"{HEAD}{INIT}START\n{HEAD}Using network IB [repeated 15x across cluster]\n"
    node = read(text)
    (found,) = communicators(text)
    assert found["network"] == "IB"
    assert "is_complete" not in found
    assert "left out lines" in node.file.cut_short["communicators"]


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


@pytest.mark.slow
def test_the_time_grows_with_the_text_and_not_with_its_square() -> None:
    def seconds(nodes: int) -> float:
        text = log(nodes=nodes)
        begin = time.perf_counter()
        read(text)
        return time.perf_counter() - begin

    seconds(10)
    small = min(seconds(40) for _ in range(3))
    assert min(seconds(320) for _ in range(2)) < 24 * small  # eight times the text
