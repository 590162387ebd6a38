"""A control interface that exists inside one host only.

Why it hurts: NCCL and Gloo tell their peers the address of this interface. A bridge of
containers or the loopback cannot be reached from another node, so that initialisation
hangs until its timeout.

What passes: an interface that joins the nodes, or a list that excludes with ^.

Where it does not apply: one node.

Source: NVIDIA/nccl issues 286 and 913; NVIDIA/nccl src/misc/socket.cc (prefix match).

Bad::

    NCCL_SOCKET_IFNAME=docker0

Good::

    NCCL_SOCKET_IFNAME=eth0
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule

_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
_ONE_HOST = ("docker", "virbr", "veth", "cni", "flannel", "br-", "kube-ipvs")


@rule(clause="COMM-017", about=_VARIABLES)
def interface_of_one_host(environment: Environment, cluster: Cluster) -> Verdicts:
    """Judge each interface that is named for control traffic."""
    nodes = cluster.nodes
    if nodes.is_known and nodes.need() <= 1:
        return
    for name in _VARIABLES:
        variable = environment.find(name)
        text = "" if variable is None else (variable.value or "").strip()
        if variable is None or not text or text.startswith("^"):
            continue
        listed = [part.strip() for part in text.lstrip("=").split(",")]
        inside = [text for text in listed if text == "lo" or text.startswith(_ONE_HOST)]
        if not inside:
            yield passed(at=variable.place, measured=text)
            continue
        yield fail(
            f"{', '.join(inside)} exists inside one host; {nodes.need():,} nodes "
            f"cannot reach each other over it",
            at=variable.place,
            measured=text,
            required="an interface that joins the nodes",
            cost="initialisation hangs until its timeout",
            remedy="Name the interface that joins the nodes, or exclude with "
            "^lo,docker,virbr,veth.",
        )
