"""A container with the shared memory of the runtime's default.

Why it hurts: NCCL and the worker processes of loaders pass data through /dev/shm, which
is 64 MiB where nothing is mounted there. NCCL fails to extend a segment at start-up, or
a worker dies of a bus error hours later.

What passes: memory of the clause's size at /dev/shm, memory without a limit of its own,
or that of the host.

Where it does not apply: containers with one GPU and no loader workers; TPUs; runtimes
whose pods a job still replaces.

Source: NVIDIA NCCL documentation, troubleshooting; pytorch issues 16979 and 108861;
containerd pkg/oci/mounts.go (size=65536k); moby daemon/config/config.go (64 MiB).

Bad::

    docker run --gpus all image torchrun --nproc-per-node=8 train.py

Good::

    docker run --gpus all --shm-size=32g image torchrun --nproc-per-node=8 train.py
"""

from speccheck.rules.communication._containers import POD
from speccheck.validator.evidence.plan import Cluster, Container, Data, Recovery
from speccheck.validator.models.units import mebibytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_SEVERAL = 2  # where it is not known how many
_FAMILIES = frozenset({"nvidia", "amd"})


class SharedMemory(Numbers):
    """The least size of /dev/shm."""

    shm_min_bytes: int


@rule(clause="COMM-050", about=("container.shared_memory_volume",))
def shared_memory_too_small(
    container: Container,
    cluster: Cluster,
    recovery: Recovery,
    data: Data,
    limit: SharedMemory,
) -> Verdicts:
    """Judge what lies at /dev/shm, and its size where it has one."""
    volume, size = container.shared_memory_volume, container.shared_memory_bytes
    if not volume.is_known and not volume.places:
        return
    if cluster.accelerator_family.value not in _FAMILIES:
        return
    if volume.status == "default" and volume.need() == "none":
        return
    workers = data.workers.or_else(0)
    gpus = cluster.gpus_per_node
    if not gpus.is_known and recovery.processes_per_node.is_known:
        gpus = recovery.processes_per_node
    if not workers and gpus.or_else(_SEVERAL) <= 1:
        return
    at = [size if size.places else volume, gpus]
    if size.value is None and not size.places:
        yield passed(at=volume, measured=volume.need())
        return
    if not workers:
        gpus.need()
    if size.need() >= limit.shm_min_bytes:
        yield passed(at=volume, measured=volume.need())
        return
    count = gpus.or_else(1)
    users = f"{count} GPUs" if count > 1 else "a GPU"
    if workers:
        users += f" with {workers} loader workers" + (" each" if count > 1 else "")
    yield fail(
        f"{mebibytes(size.need())} of shared memory in the container for {users}; at "
        f"least {mebibytes(limit.shm_min_bytes)} is needed",
        at=at,
        measured=size.need(),
        required=limit.shm_min_bytes,
        cost="NCCL fails at start-up, or a loader worker dies of a bus error",
        remedy=_REMEDIES.get(container.engine.or_else(POD), _OPTION),
    )


_OPTION = "Start the container with --shm-size=16g or more, or with --ipc=host."
_REMEDIES = {
    POD: "Mount an emptyDir volume with medium Memory at /dev/shm.",
    "compose": "Set shm_size: 16g or more, or ipc: host, for the service.",
}
