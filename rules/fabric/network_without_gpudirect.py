"""Connections between nodes that ran without GPUDirect RDMA.

Why it hurts: each message is copied to host memory and back: half the bandwidth or
less, and the memory bus of the processors is loaded. NCCL says it in its log alone.

What passes: every connection over the network ends in /GDRDMA.

Where it does not apply: communicators without a connection over the network, sockets
(COMM-005 tells of those), fabrics without RDMA, and EFA with GPUs that it does not
reach. That some connections have it and others not is unknown where GPUs may lie far
from their adapter. That DMA-BUF is available proves nothing.

Source: NVIDIA/nccl src/transport/net.cc, src/graph/paths.cc; NVIDIA/nccl-tests 245.

Bad::

    NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0

Good::

    NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA
"""

from speccheck.rules.communication._ran import VERBS, one_verdict, several_nodes
from speccheck.validator.evidence.measurement.communicator import (
    Communicator,
    Communicators,
)
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)


class Reach(Numbers):
    """The first GPUs that EFA reaches."""

    efa_capability_min: float


@rule(clause="FAB-005")
def network_without_gpudirect(
    communicators: Communicators,
    cluster: Cluster,
    machine: InstanceProfile,
    limit: Reach,
) -> Verdicts:
    """Judge the connections over the network."""
    fabric = cluster.fabric.value
    if fabric is not None and fabric not in {*VERBS, "efa"}:
        return
    if fabric == "efa":
        capability = float(".".join(map(str, cluster.compute_capability.need())))
        if capability < limit.efa_capability_min:
            return
    yield from one_verdict(communicators, lambda one: _judged(one, cluster, machine))


def _judged(
    one: Communicator, cluster: Cluster, machine: InstanceProfile
) -> Verdict | None:
    if one.links_by_network.value in {None, 0} and not several_nodes(one):
        return None
    if one.socket_links.value or one.is_mnnvl.value:
        return None
    links, reached = one.links_by_network.need(), one.links_by_gpudirect.need()
    at = [one.links_by_gpudirect, one.links_by_network, one.no_gpudirect_adapters]
    if links and reached == links:
        return passed(at=at, measured=reached, required=links)
    if links == 0:
        return unknown(
            "the log shows no connection between the nodes",
            missing=[one.links_by_network.name],
            at=at,
        )
    cluster.fabric.need()
    adapters, gpus = machine.network_adapters.value, machine.gpus.value
    if reached and (adapters is None or gpus is None or adapters < gpus):
        return unknown(
            f"{reached} of {links} connections over the network use GPUDirect RDMA; "
            "whether each GPU has an adapter near it is not known",
            missing=["profile.network_adapters"],
            at=at,
        )
    return fail(
        f"{links - reached} of {links} connections over the network run without "
        "GPUDirect RDMA; all of them should use it",
        at=at,
        measured=reached,
        required=links,
        cost="half the bandwidth between nodes or less: host memory is in the way",
        remedy="modprobe nvidia_peermem, or use dma-buf with the open kernel module; "
        "unset NCCL_NET_GDR_LEVEL=LOC and NCCL_DMABUF_ENABLE=0; look for /GDRDMA in "
        "the log of the next run.",
        action="FIX_CONFIG",
    )
