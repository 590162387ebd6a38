"""A container with an RDMA device that may not lock memory.

Why it hurts: RDMA registers memory, which locks it. Without more the limit of the
service of the container runtime holds, often 64 KiB or 8 MiB: NCCL fails to create its
queues, or falls back to sockets.

What passes: no limit of locked memory, a privileged container, and in a pod, which has
no field for the limit, the capability IPC_LOCK. That lifts the limit for root alone:
where the limit itself can be set, it is looked at.

Where it does not apply: one node; containers without an RDMA device, or with EFA, whose
images of nodes lift the limit; engines that leave the limit of the caller. Services
that set the limit to unlimited do without, hence advice.

Source: NVIDIA NCCL documentation, troubleshooting (memlock); NVIDIA Network Operator
documentation (IPC_LOCK); Linux drivers/infiniband/core/umem.c (CAP_IPC_LOCK).

Bad::

    docker run --device=/dev/infiniband --network host image torchrun ...

Good::

    docker run --device=/dev/infiniband --ulimit memlock=-1 --network host image ...
"""

from speccheck.rules.communication._containers import POD, noun
from speccheck.validator.evidence.plan import Cluster, Container
from speccheck.validator.models.units import mebibytes
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LOCKING = "IPC_LOCK"


@rule(clause="FAB-006", confidence="advisory", about=("container.may_lock_memory",))
def rdma_without_locked_memory(container: Container, cluster: Cluster) -> Verdicts:
    """Judge whether the container may lock memory."""
    device, may = container.fabric_device, container.may_lock_memory
    if device.or_else("none") == "none" or cluster.nodes.value == 1:
        return
    if not may.is_known and not may.places:
        return
    if may.need():
        yield passed(at=[device, may])
        return
    engine = container.engine.or_else(POD)
    limit = container.locked_memory_bytes
    message = f"the {noun(container)} gets {device.need()} and may not lock memory"
    if limit.is_known:
        message += f": its limit is {mebibytes(limit.need())}"
    elif engine != POD:
        message += f" beyond the limit of the service of {engine}"
    if any(_LOCKING in name for name in container.capabilities.or_else(())):
        message += f"; {_LOCKING} lifts it for root alone"
    yield fail(
        message,
        at=[device, limit] if limit.is_known else device,
        measured=limit.value if limit.is_known else f"no {_LOCKING}",
        required="unlimited" if engine != POD else _LOCKING,
        cost="NCCL fails to register memory, or falls back to sockets",
        remedy=_REMEDIES.get(engine, "Start it with --ulimit memlock=-1."),
    )


_REMEDIES = {
    POD: f"Add the capability {_LOCKING} to the container.",
    "compose": "Set ulimits: {memlock: -1} for the service.",
}
