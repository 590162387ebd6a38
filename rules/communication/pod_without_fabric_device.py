"""Pods on machines with EFA that ask for none of its devices.

Why it hurts: a container sees only the devices that it asks for. Without them the
plugin of NCCL finds no EFA, and the job runs over TCP sockets of the host at a tenth
of the bandwidth, without an error.

What passes: vpc.amazonaws.com/efa in the limits of the container.

Where it does not apply: one node; machines without EFA, or of which no file speaks;
privileged containers and those that mount devices of the host.

Source: Amazon EKS documentation, machine learning training with EFA; aws-samples
awsome-distributed-training (each manifest asks for vpc.amazonaws.com/efa).

Bad::

    limits: {nvidia.com/gpu: 8}      # ml.p5.48xlarge

Good::

    limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}
"""

from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule

_EFA = "efa"


@rule(clause="COMM-054", confidence="advisory", about=("container.fabric_device",))
def pod_without_fabric_device(cluster: Cluster) -> Verdicts:
    """Judge the devices of a pod on machines that have EFA."""
    device, fabric = container.fabric_device, cluster.fabric
    if not device.is_known or fabric.value != _EFA or cluster.nodes.or_else(1) <= 1:
        return
    if device.need() != "none":
        yield passed(at=[device, fabric], measured=device.need())
        return
    yield fail(
        f"the pods run on {cluster.nodes.need():,} nodes with EFA and ask for none of "
        f"its devices",
        at=[device, fabric],
        measured="none",
        required="vpc.amazonaws.com/efa",
        cost="NCCL runs over TCP sockets, and nothing says so",
        remedy="Add vpc.amazonaws.com/efa to the limits, as many as the machine has.",
    )
