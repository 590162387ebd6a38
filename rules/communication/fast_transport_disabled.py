"""RDMA switched off between nodes that have it.

Why it hurts: NCCL falls back to TCP sockets without a message: a tenth of the bandwidth
between the nodes, and a processor core for each connection.

What passes: neither NCCL_IB_DISABLE=1, NCCL_NET=Socket, nor a disabled plugin where the
plugin is the only fast path.

Where it does not apply: one node, plain Ethernet. NCCL_IB_DISABLE says nothing on
fabrics that do not use verbs (EFA, GPUDirect-TCPXO).

Source: NVIDIA/nccl, environment variables; aws/aws-ofi-nccl; GCP TCPXO.

Bad::

    NCCL_IB_DISABLE=1

Good::

    NCCL_NET=IB      # start-up fails loudly when the transport is missing
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_VERBS = frozenset({"infiniband", "roce-lossless", "spectrum-x-ra2.2", "mrc"})
_PLUGIN_ONLY = frozenset({"efa", "gcp-tcpxo", "gcp-tcpx"})
_NO_FAST_PATH = frozenset({"ethernet-tcp", "nvlink-only"})
_NAMES = ("NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_PLUGIN")


@rule(clause="COMM-005")
def fast_transport_disabled(environment: Environment, cluster: Cluster) -> Verdicts:
    """Judge the variables that choose the transport."""
    fabric = cluster.fabric
    if cluster.nodes.need() <= 1 or fabric.value in _NO_FAST_PATH:
        return
    if not environment.files:
        yield unknown("no script sets the environment", missing=["environment"])
        return
    found = [one for name in _NAMES if (one := environment.find(name)) and one.value]
    suspicious = [one for one in found if _disables(one)]
    if not suspicious:
        yield passed(at=[one.place for one in found])
        return
    kind = fabric.need()
    for one in suspicious:
        if not _matters(one, kind):
            continue
        yield fail(
            f"{one.name}={one.value} takes the fast transport of {kind} away: traffic "
            f"between nodes goes over TCP sockets",
            at=[one.place, *fabric.places],
            measured=one.value,
            required="not set",
            cost="a tenth of the bandwidth between nodes, without a message",
            remedy=f"Delete {one.name}.",
            fix=without_variables([one], is_safe=False),
        )


def _disables(variable: Variable) -> bool:
    text = (variable.value or "").strip().lower()
    if variable.name == "NCCL_IB_DISABLE":
        return integer_seen(text) not in {None, 0}
    return text == ("socket" if variable.name == "NCCL_NET" else "none")


def _matters(variable: Variable, fabric: str) -> bool:
    if variable.name == "NCCL_IB_DISABLE":
        return fabric in _VERBS
    return variable.name == "NCCL_NET" or fabric in _PLUGIN_ONLY
