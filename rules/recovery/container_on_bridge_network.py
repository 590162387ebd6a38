"""Containers of several nodes, each on a network of its own.

Why it hurts: on the bridge of an engine a container has an address that no other node
can reach. Ranks publish that address: the rendezvous, or the first connection of NCCL,
waits until its timeout. Publishing the port of the rendezvous is not enough: NCCL and
Gloo listen on ports of their own.

What passes: the network of the host, or one that the user names: an overlay, macvlan.

Where it does not apply: one node; pods, whose network joins the nodes.

Source: docker/cli container_run.md (--network, bridge by default); NVIDIA/nccl
src/misc/socket.cc (the address of the interface that is found).

Bad::

    docker run --gpus all image torchrun --nnodes=4 --nproc-per-node=8 train.py

Good::

    docker run --gpus all --network host image torchrun --nnodes=4 ...
"""

from speccheck.validator.evidence.plan import Cluster, Container
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ISOLATED = frozenset({"bridge", "loopback", "none", "private"})
_POD = "pod"


@rule(clause="COMM-017", confidence="advisory", about=("container.network",))
def container_on_bridge_network(container: Container, cluster: Cluster) -> Verdicts:
    """Judge the network of a container whose job has several nodes."""
    network = container.network
    if not network.is_known and not network.places:
        return
    if network.value == _POD or cluster.nodes.or_else(1) <= 1:
        return
    at = [network, cluster.nodes]
    if network.need() not in _ISOLATED:
        yield passed(at=at, measured=network.need())
        return
    engine = container.engine.or_else("")
    yield fail(
        f"the container is on the {network.need()} network, and the job has "
        f"{cluster.nodes.need():,} nodes",
        at=at,
        measured=network.need(),
        required="host",
        cost="ranks publish addresses that other nodes cannot reach: the job hangs at "
        "start-up",
        remedy=_REMEDIES.get(engine, "Start the container with --network host."),
    )


_REMEDIES = {
    "compose": "Set network_mode: host for the service.",
    "apptainer": "Leave out --net.",
    "enroot": "Leave out --net.",
}
