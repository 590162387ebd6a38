"""A container with the shared memory of the runtime's default.

Why it hurts: NCCL and the worker processes of loaders pass data through /dev/shm, which
is 64 MiB where a pod mounts nothing there. NCCL fails to extend a segment at start-up,
or a worker dies of a bus error hours later.

What passes: memory of the clause's size at /dev/shm, memory without a limit of its own,
or that of the host.

Where it does not apply: pods with one GPU and no loader workers; TPUs; runtimes whose
pods a job still replaces.

Source: NVIDIA NCCL documentation, troubleshooting; pytorch issues 16979 and 108861;
containerd pkg/oci/mounts.go (size=65536k).

Bad::

    containers:
      - resources: {limits: {nvidia.com/gpu: 8}}

Good::

    containers:
      - resources: {limits: {nvidia.com/gpu: 8}}
        volumeMounts: [{name: shm, mountPath: /dev/shm}]
    volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
"""

from speccheck.validator.evidence.plan import Cluster, Data
from speccheck.validator.models.units import mebibytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_FAMILIES = frozenset({"nvidia", "amd"})


class SharedMemory(Numbers):
    """The least size of /dev/shm."""

    shm_min_bytes: int


@rule(clause="COMM-050", about=("container.shared_memory_volume",))
def shared_memory_too_small(
    cluster: Cluster, data: Data, limit: SharedMemory
) -> Verdicts:
    """Judge the volume at /dev/shm, and its size where it has one."""
    volume, size = container.shared_memory_volume, container.shared_memory_bytes
    if not volume.is_known or cluster.accelerator_family.value not in _FAMILIES:
        return
    if volume.status == "default" and volume.value == "none":
        return
    workers = data.workers.or_else(0)
    if not workers and cluster.gpus_per_node.need() <= 1:
        return
    at = [size if size.places else volume, cluster.gpus_per_node]
    has_no_limit = size.value is None and not size.places
    if has_no_limit or size.need() >= limit.shm_min_bytes:
        yield passed(at=volume, measured=volume.need())
        return
    gpus = cluster.gpus_per_node.or_else(1)
    users = f"{gpus} GPUs" if gpus > 1 else "a GPU"
    if workers:
        users += f" with {workers} loader workers" + (" each" if gpus > 1 else "")
    yield fail(
        f"{mebibytes(size.need())} of shared memory in the container for {users}; at "
        f"least {mebibytes(limit.shm_min_bytes)} is needed",
        at=at,
        measured=size.need(),
        required=limit.shm_min_bytes,
        cost="NCCL fails at start-up, or a loader worker dies of a bus error",
        remedy="Mount an emptyDir volume with medium Memory at /dev/shm.",
    )
