"""Connections between nodes that ran without GPUDirect RDMA.

Why it hurts: each message is copied to host memory and back: half the bandwidth or
less, and the memory bus of the processors is loaded. NCCL says it in its log alone.

What passes: every connection over the network ends in /GDRDMA.

Where it does not apply: communicators without a connection over the network, sockets
(COMM-005 tells of those), fabrics without verbs, such as EFA (COMM-088). That some
connections have it and others not is unknown where GPUs may lie far from their adapter.
That DMA-BUF is available proves nothing.

Source: NVIDIA/nccl src/transport/net.cc, src/graph/paths.cc; NVIDIA/nccl-tests 245.

Bad::

    NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0

Good::

    NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA
"""

from speccheck.rules.communication._ran import VERBS, one_verdict
from speccheck.rules.communication._reach import reach_of
from speccheck.validator.evidence.measurement.collective import Communicators
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, rule

_REMEDY = (
    "modprobe nvidia_peermem, or use dma-buf with the open kernel module; unset "
    "NCCL_NET_GDR_LEVEL=LOC and NCCL_DMABUF_ENABLE=0; look for /GDRDMA in the log of "
    "the next run."
)


@rule(clause="FAB-005")
def network_without_gpudirect(
    communicators: Communicators, cluster: Cluster, machine: InstanceProfile
) -> Verdicts:
    """Judge the connections over the network."""
    fabric = cluster.fabric.value
    if fabric is not None and fabric not in VERBS:
        return
    yield from one_verdict(
        communicators,
        lambda communicator: reach_of(communicator, cluster, machine, _REMEDY),
    )
