"""Which ways NCCL took, by its log, for reports: communicators of one kind together."""

from collections.abc import Iterator

from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.measurement.communicator import (
    Communicator,
    Communicators,
)
from speccheck.validator.evidence.measurement.path import path_words
from speccheck.validator.evidence.record import Record


class MeasuredPath(Record):
    """Communicators of as many ranks, of one release, over one network.

    Attributes:
        communicators: how many there are.
        ranks, nodes: of each; None where the log does not tell.
        nccl_version, network: empty where the log does not tell.
        words: the connections, and what adds up on the way.

    """

    communicators: int
    ranks: int | None
    nodes: int | None
    nccl_version: str
    network: str
    words: tuple[str, ...]


def measured_paths(evidence: Evidence) -> tuple[MeasuredPath, ...]:
    """The ways of all communicators that connect several ranks."""
    found = evidence.get(Communicators)
    if found is None:
        return ()
    groups: dict[tuple[object, ...], list[Communicator]] = {}
    for one in found.shown:
        if one.ranks.value != 1:
            leaves = (one.ranks, one.nodes, one.nccl_version, one.network)
            groups.setdefault(tuple(leaf.value for leaf in leaves), []).append(one)
    return tuple(_path(alike) for alike in groups.values())


def _path(alike: list[Communicator]) -> MeasuredPath:
    first = alike[0]
    return MeasuredPath(
        communicators=len(alike),
        ranks=first.ranks.value,
        nodes=first.nodes.value,
        nccl_version=first.nccl_version.or_else(""),
        network=first.network.or_else(""),
        words=(path_words(alike), *_sums(first)),
    )


def _sums(one: Communicator) -> Iterator[str]:
    """What adds up in switches, and whether NVLink reaches other nodes."""
    if one.nvls_channels.is_known:
        yield f"NVLS channels: {one.nvls_channels.value}"
    if one.links_by_collnet.value:
        yield f"in-network reduction: {one.links_by_collnet.value} connections"
    if one.is_mnnvl.value:
        yield "NVLink reaches other nodes"
    if one.is_complete.value is False:
        yield "not all of its ranks finished their start"
