"""What collectives reach, the communicators that NCCL logs, and the path of the bytes.

A run is one collective over one set of ranks with one placement of its buffers, as
nccl-tests, `speccheck bench` and others measure it. Its points are lists of one length,
in the order measured: all of them describe the message of `size_bytes` at the same
position. What a tool did not tell of a point is None. Sizes count the whole buffer, for
all-gather the gathered one, and bus bandwidth is what NVIDIA/nccl-tests
doc/PERFORMANCE.md calls so.

A communicator is what its ranks wrote with NCCL_DEBUG=INFO, and `path_of` says whether
such a log proves which transports a run used.
"""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value


class CollectiveRun(Part):
    """One collective, measured over messages of several sizes."""

    __slots__ = ()
    kind = "collective_runs"
    scope = "measurement"
    counts = frozenset({"ranks", "nodes"})

    tool: Value[str]  # nccl-tests, speccheck, superbench, osu
    tool_version: Value[str]
    collective: Value[str]  # all_reduce, all_gather, reduce_scatter, all_to_all, ...
    placement: Value[str]  # out_of_place, in_place
    backend: Value[str]  # nccl, rccl, gloo, mpi
    library_version: Value[str]  # of the backend: 2.25.1
    function: Value[str]  # of a library that did it: all_gather_into_tensor
    torch_version: Value[str]  # whose library that is
    data_type: Value[str]  # as the tool writes it
    gpu: Value[str]  # the name of all GPUs; absent where they differ
    ranks: Value[int]  # one for each GPU
    nodes: Value[int]
    hosts: Value[tuple[str | None, ...]]  # by name, each once, in order of their ranks
    round: Value[int]  # of a plan that takes turns, from 0
    algorithm: Value[str]  # that was forced: ring, tree, nvls, collnet_direct, ...
    warmup_iterations: Value[int]
    iterations: Value[int]
    is_complete: Value[bool]  # it ended as the tool ends; otherwise it died
    ended_by: Value[str]  # of one that is not complete: time budget, interrupt, fault
    is_compared: Value[bool]  # its results were compared with the right ones
    out_of_bounds: Value[int]  # sizes with wrong results, as the tool sums them up
    wrong_hosts: Value[tuple[str | None, ...]]  # whose ranks received wrong values

    size_bytes: Value[tuple[int | None, ...]]
    seconds: Value[tuple[float | None, ...]]  # median over iterations, slowest rank
    algorithm_bytes_per_second: Value[tuple[float | None, ...]]
    bus_bytes_per_second: Value[tuple[float | None, ...]]
    wrong_values: Value[tuple[int | None, ...]]
    spread: Value[tuple[float | None, ...]]  # quartiles apart, over the median
    variation: Value[tuple[float | None, ...]]  # standard deviation over the mean
    p99_seconds: Value[tuple[float | None, ...]]  # of iterations, slowest rank
    repeats: Value[tuple[int | None, ...]]  # measured again because it was unsteady


class CollectiveRuns(Parts[CollectiveRun]):
    """All runs, of one tool or of several."""

    __slots__ = ()
    part = CollectiveRun
    scope = "measurement"


MULTIPATH_OF_VERBS = "MRC of the RDMA plugin"
IGNORED_MULTIPATH = "MRC asked for and ignored"


class Communicator(Part):
    """One communicator, over all of its ranks that the log shows."""

    __slots__ = ()
    kind = "communicators"
    scope = "measurement"
    counts = frozenset({"ranks", "nodes"})

    nccl_version: Value[str]
    cuda_version: Value[str]
    id: Value[str]  # commId, or the number of the communicator in the log
    ranks: Value[int]
    nodes: Value[int]
    ranks_per_node: Value[int]
    ranks_seen: Value[int]  # that the log names as members
    finished_ranks: Value[tuple[int | None, ...]]  # that told `Init COMPLETE`
    unfinished_ranks: Value[tuple[int | None, ...]]  # that began, and never told so
    is_complete: Value[bool]  # every rank of it told `Init COMPLETE`
    init_seconds: Value[float]  # of the slowest rank

    warnings: Value[int]  # lines `NCCL WARN` of its processes

    # Where the processes of its ranks differ, texts are joined by commas.
    bootstrap_interface: Value[str]
    network: Value[str]  # IB, Socket, IBext_v8, AWS Libfabric, gIB, FasTrak, ...
    network_plugin: Value[str]  # internal, or the name of the plugin in use
    missing_plugin: Value[str]  # libraries of a network plugin that were not found
    loaded_plugins: Value[tuple[str | None, ...]]  # libraries: network, tuner, ...
    tuner_plugin: Value[str]  # internal, or its name
    missing_tuner: Value[str]
    verbs_failure: Value[str]  # why NCCL has no InfiniBand or RoCE of its own
    libfabric_provider: Value[str]  # efa
    libfabric_adapters: Value[int]
    # of the multipath plugin: mrc_v1; or what the RDMA plugin tells of MRC
    mrc_version: Value[str]
    adapters: Value[tuple[str | None, ...]]  # mlx5_0:1/IB, in the order of the log

    coll_channels: Value[int]
    nvls_channels: Value[int]
    collnet_channels: Value[int]
    p2p_channels: Value[int]
    p2p_channels_per_peer: Value[int]
    links_by_pointer: Value[int]  # lines `via P2P/`: NVLink or PCIe, GPU to GPU
    links_by_host_memory: Value[int]  # `via SHM/`, `via direct shared memory`
    links_by_network: Value[int]  # `via NET/`
    links_by_gpudirect: Value[int]  # of those by network, ending in /GDRDMA
    links_by_collnet: Value[int]
    socket_links: Value[int]  # `via NET/Socket`
    gpudirect_adapters: Value[tuple[str | None, ...]]  # GPU Direct RDMA Enabled
    no_gpudirect_adapters: Value[tuple[str | None, ...]]  # ... Disabled
    gpudirect_pairs: Value[int]  # of a GPU and an adapter: near enough
    no_gpudirect_pairs: Value[int]  # too far apart, which is well for most

    gpus_with_multicast: Value[int]  # NVLS multicast support is available
    gpus_without_multicast: Value[int]
    has_nvls_tree: Value[bool]
    has_rings: Value[bool]  # their connections are made
    has_trees: Value[bool]
    ring_has_gpudirect: Value[bool]  # on all of its ranks; without a network, too
    ring_has_pxn: Value[bool]  # adapters are reached by way of another GPU
    is_mnnvl: Value[bool]  # NVLink reaches GPUs of other nodes
    nvlink_cliques: Value[int]  # different clique ids
    # Of the lines of the tuner, at one position: which collective and size took what.
    tuned_collective: Value[tuple[str | None, ...]]  # AllReduce
    tuned_bytes: Value[tuple[int | None, ...]]
    tuned_algorithm: Value[tuple[str | None, ...]]  # RING, TREE, NVLS, NVLS_TREE, ...
    tuned_protocol: Value[tuple[str | None, ...]]  # LL, LL128, SIMPLE


class Communicators(Parts[Communicator]):
    """All communicators of the log."""

    __slots__ = ()
    part = Communicator
    scope = "measurement"


class VariableInForce(Part):
    """A variable that NCCL says it took: `NCCL_X set by environment to y`."""

    __slots__ = ()
    kind = "variables_in_force"
    scope = "measurement"

    name: Value[str]
    value: Value[str]  # absent where it may be a credential
    set_by: Value[str]  # environment (or nccl.conf), plugin


class VariablesInForce(Parts[VariableInForce]):
    """All variables that the log says were taken."""

    __slots__ = ()
    part = VariableInForce
    scope = "measurement"


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
    """Return whether NCCL moved the bytes, and over more than one rank."""
    backend = run.backend.value
    return backend in {None, "nccl"} and run.ranks.value != 1


def whole_ones(communicators: Iterable[Communicator]) -> frozenset[Named]:
    """Return those that every rank reported as complete, in one log or in several.

    NCCL_DEBUG_FILE gives each process a file of its own.
    """
    finished: dict[Named, set[int | None]] = {}
    whole: set[Named] = set()
    for communicator in communicators:
        name = named(communicator)
        numbers = finished.setdefault(name, set())
        numbers.update(communicator.finished_ranks.value or ())
        if communicator.is_complete.value or (name[1] and len(numbers) >= name[1]):
            whole.add(name)
    return frozenset(whole)


def named(communicator: Communicator) -> Named:
    """Return by what the parts of one communicator in several files are alike."""
    return communicator.id.value, communicator.ranks.value


def path_of(run: CollectiveRun, communicators: Iterable[Communicator]) -> Path:
    """Return what the communicators of logs tell of the path of a run."""
    ranks = run.ranks.value
    if ranks is None:
        return _open("how many ranks took part is not known")
    alike = [
        communicator
        for communicator in communicators
        if communicator.ranks.value == ranks
    ]
    if not alike:
        return _open(f"no log shows a communicator of {ranks} ranks")
    tried = [_membership(run, ranks, group) for group in _groups(alike)]
    proven = [path for path in tried if path.is_proven]
    fitting = [path for path in tried if not path.is_of_another]
    return (proven or [*reversed(fitting)] or tried)[0]


def _groups(communicators: Sequence[Communicator]) -> Iterator[Sequence[Communicator]]:
    """Yield each by itself; then those that several files show of one communicator."""
    by_id: dict[str | None, list[Communicator]] = {}
    for communicator in communicators:
        yield [communicator]
        by_id.setdefault(communicator.id.value, []).append(communicator)
    for several in by_id.values():
        if len(several) > 1:
            yield several


def _membership(run: CollectiveRun, ranks: int, group: Sequence[Communicator]) -> Path:
    nodes, measured_on = _nodes(group), run.nodes.value
    at = tuple(communicator.ranks for communicator in group)
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
        for communicator in group
        for stated_ranks in (communicator.finished_ranks, communicator.unfinished_ranks)
        for rank in stated_ranks.value or ()
    }
    if len(seen) < ranks:
        return _open(f"the log shows {len(seen)} of {ranks} ranks", at)
    counts = {name: _sum(group, name) for name, _ in _LINKS}
    if not any(counts.values()):
        return _open("the log shows no transport of any connection", at)
    is_rack = any(communicator.is_mnnvl.value for communicator in group)
    beyond = counts["links_by_network"] + counts["links_by_collnet"]
    if measured_on > 1 and not beyond and not is_rack:
        return _open(f"the log shows no connection between the {measured_on} nodes", at)
    return Path(is_proven=True, words=path_words(group), at=at)


def _open(words: str, at: tuple[Value[int], ...] = ()) -> Path:
    return Path(is_proven=False, words=words, at=at)


def _nodes(group: Sequence[Communicator]) -> int | None:
    numbers = {
        communicator.nodes.value
        for communicator in group
        if communicator.nodes.is_known
    }
    return numbers.pop() if len(numbers) == 1 else None


def _sum(group: Sequence[Communicator], name: str) -> int:
    return sum(getattr(communicator, name).or_else(0) for communicator in group)


def path_words(group: Sequence[Communicator]) -> str:
    """Return the connections of communicators by their transport, in words."""
    counts = {name: _sum(group, name) for name, _ in _LINKS}
    shown = [f"{counts[name]} {words}" for name, words in _LINKS if counts[name]]
    if counts["links_by_network"]:
        network = next(
            (
                communicator.network.value
                for communicator in group
                if communicator.network.is_known
            ),
            "",
        )
        reach, links = _sum(group, "links_by_gpudirect"), counts["links_by_network"]
        share = {0: "none", links: "all"}.get(reach, f"{reach} of them")
        name = f"{network}; " if network else ""
        shown[-1] += f" ({name}{share} with GPUDirect)"
    return f"connections: {', '.join(shown) or 'the log shows none'}"
