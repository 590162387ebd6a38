"""Whether logs prove the path of a measurement."""

import pytest

from nccl_logs import log
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
    Communicator,
    Communicators,
    Path,
    path_of,
    uses_nccl,
)
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.evidence.node.part import SnapshotFile
from speccheck.validator.sources.capture import Capture
from speccheck.validator.sources.nccl_log import add_communicators


def a_run(**leaves: object) -> CollectiveRun:
    """Return a measurement of 16 ranks on 2 nodes."""
    content = {"collective_runs": [{"ranks": 16, "nodes": 2, **leaves}]}
    (run,) = (
        Node(content, SnapshotFile("run.json", {}, {}), "")
        .several(CollectiveRuns)
        .shown
    )
    return run


def shown(*texts: str) -> list[Communicator]:
    """Return the communicators of several logs."""
    found: list[Communicator] = []
    for text in texts:
        capture = Capture("nccl.log", "NCCL log")
        add_communicators(capture, text)
        found += capture.node().several(Communicators).shown
    return found


def of_rank(text: str, rank: int) -> str:
    """Return what one rank of eight a node writes."""
    head = f"gpu-{rank // 8}:{4000 + 10 * (rank % 8)}:"
    return "\n".join(line for line in text.splitlines() if head in line)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (log(), "4 by the network (IB; all with GPUDirect)"),
        (log(reach=""), "(IB; none with GPUDirect)"),
        (log(network="Socket", reach=""), "(Socket; none with GPUDirect)"),
        (log(inside="SHM/direct/direct"), "14 by host memory, 4 by the network"),
    ],
)
def test_a_log_of_all_ranks_proves_the_path_good_or_bad(text: str, words: str) -> None:
    path = path_of(a_run(), shown(text))
    assert path.is_proven
    assert words in path.words


def test_files_of_each_rank_prove_it_together() -> None:
    text = log()
    files = [of_rank(text, rank) for rank in range(16)]
    assert path_of(a_run(), shown(*files)).is_proven
    assert path_of(a_run(), shown(*files[1:])).words == "the log shows 15 of 16 ranks"


@pytest.mark.parametrize(
    ("communicators", "words"),
    [
        (shown(), "no log shows a communicator of 16 ranks"),
        (shown(log(nodes=1)), "no log shows a communicator of 16 ranks"),
        (shown(of_rank(log(), 3)), "the log shows 1 of 16 ranks"),
        (
            shown(log().replace(" via ", " by ")),
            "the log shows no transport of any connection",
        ),
        (
            shown(log().replace("via NET/", "by NET/")),
            "the log shows no connection between the 2 nodes",
        ),
    ],
)
def test_what_is_not_shown_is_not_proven(
    communicators: list[Communicator], words: str
) -> None:
    assert path_of(a_run(), communicators) == Path(
        is_proven=False,
        words=words,
        at=path_of(a_run(), communicators).at,
    )


def test_a_log_of_other_nodes_is_that_of_another_measurement() -> None:
    path = path_of(a_run(), shown(log(nodes=4, gpus=4)))
    assert path.is_of_another
    assert not path.is_proven
    both = shown(log(nodes=4, gpus=4), log())
    assert path_of(a_run(), both).is_proven


def test_a_rack_needs_no_network() -> None:
    text = log(gpus=4, is_rack=True).replace("via NET/IB/0/GDRDMA", "via P2P/MNNVL")
    assert path_of(a_run(ranks=8), shown(text)).is_proven


def test_only_what_nccl_moved_has_a_path_in_its_log() -> None:
    assert uses_nccl(a_run())
    assert not uses_nccl(a_run(backend="gloo"))
    assert not uses_nccl(a_run(ranks=1))
