"""Connections over EFA that ran without GPUDirect RDMA.

Why it hurts: each message is copied to host memory and back: half the bandwidth or
less. The plugin says so once and goes on with the Simple protocol.

What passes: every connection over the network ends in /GDRDMA.

Where it does not apply: other fabrics (FAB-005), GPUs that EFA does not reach, and
communicators without a connection over the network.

Source: aws/aws-ofi-nccl README; NVIDIA/nccl src/transport/net.cc.

Bad::

    NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/AWS Libfabric/0

Good::

    NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA
"""

from speccheck.rules.communication._ran import one_verdict
from speccheck.rules.communication._reach import reach_of
from speccheck.validator.evidence.measurement.collective import Communicators
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Numbers, Verdicts, rule

_REMEDY = (
    "Look for `GDR not supported` in the log: load efa_nv_peermem, or use a driver and "
    "a kernel with dma-buf, and the libfabric of the EFA installer; unset "
    "NCCL_NET_GDR_LEVEL=LOC."
)


class Reach(Numbers):
    """The first GPUs that EFA reaches."""

    efa_capability_min: float


@rule(clause="COMM-088")
def efa_without_gpudirect(
    communicators: Communicators,
    cluster: Cluster,
    machine: InstanceProfile,
    limit: Reach,
) -> Verdicts:
    """Judge the connections over EFA."""
    if cluster.fabric.need() != "efa":
        return
    capability = float(".".join(map(str, cluster.compute_capability.need())))
    if capability < limit.efa_capability_min:
        return
    yield from one_verdict(
        communicators,
        lambda communicator: reach_of(communicator, cluster, machine, _REMEDY),
    )
