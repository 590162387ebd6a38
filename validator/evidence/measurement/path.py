"""Whether a log proves which path the bytes of a measurement took.

A bandwidth alone says nothing of the path: a node whose adapters are out of use passes
inside of it, and host memory hides behind a generous threshold. NCCL writes the
transport of each connection with NCCL_DEBUG=INFO.
"""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.measurement.communicator import Communicator
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value

# In the order of the message: the leaf, what it counts.
_LINKS = (
    ("links_by_pointer", "GPU to GPU"),
    ("links_by_host_memory", "by host memory"),
    ("links_by_network", "by the network"),
    ("links_by_collnet", "by in-network reduction"),
)
Named = tuple[str | None, int | None]


class Path(Record):
    """What a log tells of the path of one measurement.

    is_proven: it shows the transports of all ranks and, of several nodes, the network.
    is_of_another: it cannot be the log of that measurement.
    words: the transports, or why they are not proven.
    """

    is_proven: bool
    words: str
    is_of_another: bool = False
    at: tuple[Value[int], ...] = ()


def uses_nccl(run: CollectiveRun) -> bool:
    """Whether NCCL moved the bytes, and over more than one rank."""
    backend = run.backend.value
    return backend in {None, "nccl"} and run.ranks.value != 1


def whole_ones(communicators: Iterable[Communicator]) -> frozenset[Named]:
    """Those of which every rank told that it is complete, in one log or in several.

    NCCL_DEBUG_FILE gives each process a file of its own.
    """
    finished: dict[Named, set[int | None]] = {}
    whole: set[Named] = set()
    for one in communicators:
        name = named(one)
        told = finished.setdefault(name, set())
        told.update(one.finished_ranks.value or ())
        if one.is_complete.value or (name[1] and len(told) >= name[1]):
            whole.add(name)
    return frozenset(whole)


def named(one: Communicator) -> Named:
    """By what the parts of one communicator in several files are alike."""
    return one.id.value, one.ranks.value


def path_of(run: CollectiveRun, communicators: Iterable[Communicator]) -> Path:
    """What the communicators of logs tell of the path of a run."""
    ranks = run.ranks.value
    if ranks is None:
        return _open("how many ranks took part is not known")
    alike = [one for one in communicators if one.ranks.value == ranks]
    if not alike:
        return _open(f"no log shows a communicator of {ranks} ranks")
    tried = [_told(run, ranks, group) for group in _groups(alike)]
    proven = [one for one in tried if one.is_proven]
    fitting = [one for one in tried if not one.is_of_another]
    return (proven or [*reversed(fitting)] or tried)[0]


def _groups(found: Sequence[Communicator]) -> Iterator[Sequence[Communicator]]:
    """Each by itself; then those that several files show of one communicator."""
    by_id: dict[str | None, list[Communicator]] = {}
    for one in found:
        yield [one]
        by_id.setdefault(one.id.value, []).append(one)
    for several in by_id.values():
        if len(several) > 1:
            yield several


def _told(run: CollectiveRun, ranks: int, group: Sequence[Communicator]) -> Path:
    nodes, measured_on = _nodes(group), run.nodes.value
    at = tuple(one.ranks for one in group)
    if measured_on is None:
        return _open("on how many nodes the measurement ran is not known", at)
    if nodes is not None and nodes != measured_on:
        words = (
            f"the log is of {ranks} ranks, nodes: {nodes}; the measurement is of "
            f"nodes: {measured_on}"
        )
        return Path(is_proven=False, words=words, is_of_another=True, at=at)
    seen = {
        rank
        for one in group
        for ranks_told in (one.finished_ranks, one.unfinished_ranks)
        for rank in ranks_told.value or ()
    }
    if len(seen) < ranks:
        return _open(f"the log shows {len(seen)} of {ranks} ranks", at)
    counts = {name: _sum(group, name) for name, _ in _LINKS}
    if not any(counts.values()):
        return _open("the log shows no transport of any connection", at)
    is_rack = any(one.is_mnnvl.value for one in group)
    beyond = counts["links_by_network"] + counts["links_by_collnet"]
    if measured_on > 1 and not beyond and not is_rack:
        return _open(f"the log shows no connection between the {measured_on} nodes", at)
    return Path(is_proven=True, words=path_words(group), at=at)


def _open(words: str, at: tuple[Value[int], ...] = ()) -> Path:
    return Path(is_proven=False, words=words, at=at)


def _nodes(group: Sequence[Communicator]) -> int | None:
    told = {one.nodes.value for one in group if one.nodes.is_known}
    return told.pop() if len(told) == 1 else None


def _sum(group: Sequence[Communicator], name: str) -> int:
    return sum(getattr(one, name).or_else(0) for one in group)


def path_words(group: Sequence[Communicator]) -> str:
    """The connections of communicators by their transport, in words."""
    counts = {name: _sum(group, name) for name, _ in _LINKS}
    shown = [f"{counts[name]} {words}" for name, words in _LINKS if counts[name]]
    if counts["links_by_network"]:
        network = next((o.network.value for o in group if o.network.is_known), "")
        reach = _sum(group, "links_by_gpudirect")
        name = f" {network}" if network else ""
        shown.append(f"{reach} of those on the network{name} with GPUDirect")
    return f"connections: {', '.join(shown) or 'the log shows none'}"
