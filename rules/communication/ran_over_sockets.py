"""Traffic between nodes that ran over TCP sockets on an RDMA fabric.

Why it hurts: NCCL falls back to sockets without an error: a tenth of the bandwidth
between the nodes, and a processor core for each connection. Settings are intent; the
log tells what ran.

What passes: communicators over several nodes whose log names another network.

Where it does not apply: communicators within one node, which prove nothing of the
network; plain Ethernet; racks whose NVLink carried all of it; fabrics that need a
plugin and ran without one, which is FAB-029.

Source: NVIDIA/nccl src/transport/net_ib, net_socket.cc and their log lines.

Bad::

    NCCL INFO NET/IB : No device found.
    NCCL INFO Using network Socket

Good::

    NCCL INFO Using network IB
"""

from speccheck.rules.communication._ran import (
    NO_FAST_PATH,
    PLUGIN_ONLY,
    networks,
    one_verdict,
    several_nodes,
)
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule

_SOCKET = "Socket"


@rule(clause="COMM-005")
def ran_over_sockets(communicators: Communicators, cluster: Cluster) -> Verdicts:
    """Judge the network that each communicator used."""
    fabric = cluster.fabric
    if fabric.value in NO_FAST_PATH:
        return
    yield from one_verdict(
        communicators, lambda communicator: _judged(communicator, cluster)
    )


def _judged(communicator: Communicator, cluster: Cluster) -> Verdict | None:
    if not several_nodes(communicator):
        return None
    links = communicator.links_by_network.value
    if communicator.is_mnnvl.value and links == 0:
        return None
    over_sockets = communicator.socket_links.need() if links else 0
    if not over_sockets and (links or _SOCKET not in networks(communicator)):
        return passed(
            f"network {communicator.network.need()}",
            at=[communicator.network, communicator.links_by_network],
            measured=communicator.network.value,
        )
    kind = cluster.fabric.need()
    if kind in PLUGIN_ONLY and communicator.network_plugin.value == "internal":
        return None
    why = communicator.verbs_failure.value
    return fail(
        f"{over_sockets or 'the'} connections between nodes ran over TCP sockets, on "
        f"a fabric that is {kind}" + (f": {why}" if why else ""),
        at=[
            communicator.network,
            communicator.socket_links,
            communicator.verbs_failure,
            cluster.fabric,
        ],
        measured=_SOCKET,
        required="RDMA",
        cost="a tenth of the bandwidth between nodes, without a message",
        remedy=_remedy(communicator),
    )


def _remedy(communicator: Communicator) -> str:
    if communicator.verbs_failure.is_known:
        return (
            "Give the container /dev/infiniband and libibverbs (rdma-core); look for "
            "active ports with ibv_devinfo."
        )
    return "Unset NCCL_IB_DISABLE and NCCL_NET=Socket; set NCCL_NET=IB to fail loudly."
