"""Communicators as NCCL's log tells of them: which path the bytes took.

NCCL writes these lines with NCCL_DEBUG=INFO; which of them there are depends on its
release and on NCCL_DEBUG_SUBSYS. What the log does not speak of is not put down.
"""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


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
    mrc_version: Value[str]  # of the multipath plugin: mrc_v1
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
