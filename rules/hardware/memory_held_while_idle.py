"""Memory of an idle GPU that no process owns.

Why it hurts: what a process left when it died is missing to the next job until the GPU
is reset.

What passes: hardly any memory in use on a GPU without processes.

Where it does not apply: a GPU with processes; within a container, where those of others
cannot be seen; a GPU that is partitioned.

Source: facebookresearch/gcm; what the driver keeps for itself is not counted (480 MiB
on an H100, 947 MiB on a GB300, by NVIDIA/k8s-test-infra).

Bad::

    nvidia-smi   # 12034MiB / 81559MiB, no running processes found

Good::

    nvidia-smi   # 1MiB / 81559MiB, no running processes found
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.models.training_memory import GIB
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Memory(Numbers):
    """Bytes that may be in use."""

    used_max: int


@rule(clause="HW-034")
def memory_held_while_idle(gpu: Gpu, host: Host, limit: Memory) -> Verdicts:
    """Judge the memory in use where the driver lists no process."""
    used = gpu.memory_used_bytes
    processes = gpu.compute_processes.need() + gpu.graphics_processes.or_else(0)
    if processes or gpu.mig_is_on.value:
        return
    if used.need() <= limit.used_max:
        yield passed(at=used, measured=used.value, required=limit.used_max)
        return
    if host.container.need() != "none":
        return
    yield fail(
        f"{used.need() / GIB:.1f} GiB of memory are in use without any process; at "
        f"most {limit.used_max / GIB:.1f} GiB should be",
        at=used,
        measured=used.value,
        required=limit.used_max,
        action="RESET_GPU",
    )
