"""A pod with an RDMA device that may not lock memory.

Why it hurts: RDMA registers memory, which locks it. Without the capability the limit of
the node's container runtime holds, often 64 KiB: NCCL fails to create its queues, or
falls back to sockets.

What passes: the capability IPC_LOCK, or a privileged container.

Where it does not apply: one node; pods that ask for no RDMA device, or for EFA, whose
images of nodes lift the limit. Nodes whose runtime
sets the limit to unlimited do without, hence advice.

Source: NVIDIA NCCL documentation, troubleshooting (memlock); NVIDIA Network Operator
documentation (IPC_LOCK).

Bad::

    limits: {nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1}

Good::

    limits: {nvidia.com/gpu: 8, rdma/hca_shared_devices_a: 1}
    securityContext: {capabilities: {add: [IPC_LOCK]}}
"""

from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="FAB-006", confidence="advisory", about=("container.may_lock_memory",))
def rdma_without_locked_memory(cluster: Cluster) -> Verdicts:
    """Judge whether the container may lock memory."""
    device, may = container.fabric_device, container.may_lock_memory
    if not may.is_known or cluster.nodes.value == 1:
        return
    if may.need():
        yield passed(at=[device, may])
        return
    yield fail(
        f"the pod asks for {device.need()} and may not lock memory for it",
        at=device,
        measured="no IPC_LOCK",
        required="IPC_LOCK",
        cost="NCCL fails to register memory, or falls back to sockets",
        remedy="Add the capability IPC_LOCK to the container.",
    )
