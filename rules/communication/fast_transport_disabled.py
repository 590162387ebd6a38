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
from speccheck.validator.evidence.plan import Cluster, TrainingPlan
from speccheck.validator.forecast.bounds import several_nodes
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_VERBS = frozenset({"infiniband", "roce-lossless", "spectrum-x-ra2.2", "mrc"})
_PLUGIN_ONLY = frozenset({"efa", "gcp-tcpxo", "gcp-tcpx"})
_NO_FAST_PATH = frozenset({"ethernet-tcp", "nvlink-only"})
_NAMES = ("NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_PLUGIN")


@rule(clause="COMM-005")
def fast_transport_disabled(
    environment: Environment, cluster: Cluster, plan: TrainingPlan
) -> Verdicts:
    """Judge the variables that choose the transport."""
    fabric = cluster.fabric
    if fabric.value in _NO_FAST_PATH:
        return
    if several_nodes(plan) is None and cluster.nodes.need() <= 1:
        return
    if not environment.files:
        yield unknown("no script sets the environment", missing=["environment"])
        return
    variables = [
        variable
        for name in _NAMES
        if (variable := environment.find(name)) and variable.value
    ]
    suspicious = [item for item in variables if _disables(item)]
    if not suspicious:
        yield passed(at=[item.place for item in variables])
        return
    kind = fabric.need()
    for variable in suspicious:
        if not _matters(variable, kind):
            continue
        yield fail(
            f"{variable.name}={variable.value} takes the fast transport of {kind} "
            "away: traffic "
            f"between nodes goes over TCP sockets",
            at=[variable.place, *fabric.places],
            measured=variable.value,
            required="not set",
            cost="a tenth of the bandwidth between nodes, without a message",
            remedy=f"Delete {variable.name}.",
            fix=without_variables([variable]),
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
