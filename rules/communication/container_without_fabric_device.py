"""Containers on machines with RDMA that get none of its devices.

Why it hurts: a container sees only the devices that it asks for. Without them NCCL
finds no InfiniBand, RoCE or EFA, and the job runs over TCP sockets of the host at a
tenth of the bandwidth, without an error.

What passes: in a pod vpc.amazonaws.com/efa in the limits; in other containers
/dev/infiniband, a privileged container, or an engine that shows the node's devices.

Where it does not apply: one node; machines without such a fabric, or of which no file
speaks. A pod on InfiniBand may get its devices in ways that its manifest does not show.

Source: Amazon EKS documentation, machine learning training with EFA; aws-samples
awsome-distributed-training (each manifest asks for vpc.amazonaws.com/efa); docker/cli
container_run.md (--device).

Bad::

    limits: {nvidia.com/gpu: 8}      # ml.p5.48xlarge

Good::

    limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}
"""

from speccheck.rules.communication._containers import POD, noun
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.plan import Cluster, Container
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_EFA = "efa"
_FABRICS = {
    _EFA: "EFA",
    "infiniband": "InfiniBand",
    "roce-lossless": "RoCE",
    "spectrum-x-ra2.2": "RoCE",
}
_ADAPTERS = "NCCL_IB_HCA"


@rule(clause="COMM-054", confidence="advisory", about=("container.fabric_device",))
def container_without_fabric_device(
    container: Container, cluster: Cluster, environment: Environment
) -> Verdicts:
    """Judge the devices of a container on machines that have such a fabric."""
    device, fabric = container.fabric_device, cluster.fabric
    is_pod = container.engine.or_else(POD) == POD
    adapters = environment.stated(_ADAPTERS)
    name = _FABRICS.get(fabric.or_else(""), "")
    if not is_pod and not fabric.is_known and _is_demand(environment):
        name = "InfiniBand or RoCE"
    if not name or (is_pod and fabric.value != _EFA) or cluster.nodes.or_else(1) <= 1:
        return
    if not device.is_known and not device.places:
        return
    at: list[Value[str] | Place] = [device]
    if fabric.is_known:
        at.append(fabric)
    elif adapters is not None:
        at.append(adapters.place)
    if device.need() != "none":
        yield passed(at=at, measured=device.need())
        return
    verb = "ask for" if is_pod else "get"
    yield fail(
        f"the {noun(container)}s run on {cluster.nodes.need():,} nodes with {name} and "
        f"{verb} none of its devices",
        at=at,
        measured="none",
        required="vpc.amazonaws.com/efa" if is_pod else "/dev/infiniband",
        cost="NCCL runs over TCP sockets, and nothing says so",
        remedy=_REMEDIES.get(container.engine.or_else(POD), _OPTION),
    )


def _is_demand(environment: Environment) -> bool:
    """Return whether variables name adapters, and RDMA is not switched off."""
    adapters: Variable | None = environment.stated(_ADAPTERS)
    disabled = environment.stated("NCCL_IB_DISABLE")
    is_off = disabled is not None and disabled.value != "0"
    return adapters is not None and bool(adapters.value) and not is_off


_OPTION = "Start the container with --device=/dev/infiniband."
_REMEDIES = {
    POD: "Add vpc.amazonaws.com/efa to the limits, as many as the machine has.",
    "compose": "Add /dev/infiniband to the devices of the service.",
    "apptainer": "Add --bind /dev/infiniband, or leave out --contain.",
}
