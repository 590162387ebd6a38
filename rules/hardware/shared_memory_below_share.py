"""A node with less shared memory than its GPUs use.

Why it hurts: NCCL and the workers of loaders pass data through /dev/shm; when it is
full, a worker dies of a bus error in the middle of an epoch.

What passes: the clause's share for each GPU.

Where it does not apply: a node without GPU.

Source: an engineering default (GoogleCloudPlatform/cluster-health-scanner: more).

Bad::

    df -h /dev/shm      # 64M, the default of a container

Good::

    docker run --ipc=host
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.models.units import mebibytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The bytes for each GPU."""

    per_gpu_bytes: int


@rule(clause="HW-071")
def shared_memory_below_share(host: Host, gpus: Gpus, limit: Share) -> Verdicts:
    """Judge the size of /dev/shm by the number of GPUs."""
    count = len(gpus.each())
    if not count:
        return
    value, required = host.shared_memory_bytes, count * limit.per_gpu_bytes
    if value.need() >= required:
        yield passed(at=value, measured=value.value, required=required)
        return
    yield fail(
        f"shared memory has {mebibytes(value.need())}; {count} GPUs should have "
        f"{mebibytes(required)}, {mebibytes(limit.per_gpu_bytes)} each",
        at=value,
        measured=value.value,
        required=required,
        cost="workers of loaders die of a bus error, NCCL fails to extend a segment",
        remedy="docker run --ipc=host or --shm-size; Kubernetes: an emptyDir volume "
        "with medium Memory at /dev/shm.",
        action="FIX_CONFIG",
    )
