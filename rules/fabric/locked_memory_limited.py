"""A process that may not lock the memory that RDMA registers.

Why it hurts: NCCL fails to register memory at start-up, or after hours when a new
communicator is made.

What passes: no limit of locked memory, or a container with the capability IPC_LOCK,
for which there is none.

Where it does not apply: a node without training ports.

Source: NVIDIA/nccl documentation, troubleshooting; NVIDIA/nccl-tests issue 206.

Bad::

    ulimit -l       # 8192

Good::

    ulimit -l       # unlimited
"""

from speccheck.rules.fabric._rails import rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.models.units import mebibytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_UNLIMITED = -1


class Locked(Numbers):
    """The limit that must be set."""

    memlock: str


@rule(clause="FAB-006")
def locked_memory_limited(
    host: Host,
    ports: RdmaPorts,
    cluster: Cluster,
    environment: Environment,
    limit: Locked,
) -> Verdicts:
    """Judge the limit of the process that looked."""
    if not rails(ports, cluster, environment):
        return
    value = host.locked_memory_bytes
    if value.need() == _UNLIMITED:
        yield passed(at=value, measured=limit.memlock, required=limit.memlock)
        return
    yield fail(
        f"locked memory is limited to {mebibytes(value.need())}; the limit must "
        f"be {limit.memlock}",
        at=value,
        measured=value.value,
        required=limit.memlock,
        cost="NCCL fails to register memory, at start-up or hours later",
        remedy="ulimit -l unlimited in the job; docker run --ulimit memlock=-1; for "
        "Slurm LimitMEMLOCK=infinity in the unit of slurmd.",
        action="FIX_CONFIG",
    )
