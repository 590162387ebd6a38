"""Transfers of one adapter to another: perftest (`ib_write_bw`, `ib_write_lat`)."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


class RdmaTransfer(Part):
    """One pair of adapters, measured over messages of several sizes.

    Its points are lists of one length, as those of a collective.
    """

    __slots__ = ()
    kind = "rdma_transfers"
    scope = "measurement"

    tool: Value[str]  # perftest, superbench
    tool_version: Value[str]
    name: Value[str]  # ib_write_bw
    operation: Value[str]  # write, read, send
    device: Value[str]  # mlx5_0
    link_layer: Value[str]  # InfiniBand, Ethernet
    transport: Value[str]  # IB, RoCE, EFA
    mtu_bytes: Value[int]
    queue_pairs: Value[int]
    memory: Value[str]  # gpu, host: where the buffers lie
    is_bidirectional: Value[bool]
    is_complete: Value[bool]

    size_bytes: Value[tuple[int | None, ...]]
    iterations: Value[tuple[int | None, ...]]
    peak_bytes_per_second: Value[tuple[float | None, ...]]
    average_bytes_per_second: Value[tuple[float | None, ...]]
    typical_seconds: Value[tuple[float | None, ...]]  # of a latency test
    p99_seconds: Value[tuple[float | None, ...]]


class RdmaTransfers(Parts[RdmaTransfer]):
    """All pairs of adapters that were measured."""

    __slots__ = ()
    part = RdmaTransfer
    scope = "measurement"
