"""A GPU none of whose near processors the job may use.

Why it hurts: the rank of that GPU runs on the far socket: copies between host and GPU
cross the link between sockets, and the thread that feeds the network is late.

What passes: at least one processor near each GPU among those that the process may use.
On virtual machines without topology each processor is near each GPU.

Where it does not apply: hosts with one NUMA node, and drivers that do not tell which
processors are near.

Source: NVIDIA/DCGM; nvmlDeviceGetCpuAffinity.

Bad::

    taskset -cp $$        # 0-47, while nvidia-smi topo -m shows 48-95 for GPU 4

Good::

    taskset -cp $$        # 0-95
"""

from speccheck.rules.topology._placement import is_near
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-006")
def processors_far_from_gpu(gpu: Gpu, host: Host) -> Verdicts:
    """Judge the processors near a GPU against those that are allowed."""
    near, allowed = gpu.cpu_affinity, host.processors_allowed
    if near.status == "not_supported" or host.numa_nodes.need() <= 1:
        return
    try:
        is_met = is_near(near.need(), allowed.need())
    except ValueError as error:
        raise MissingEvidence(near.name, f"no list of processors: {error}") from error
    if is_met:
        yield passed(at=[near, allowed])
        return
    yield fail(
        f"the processors near this GPU are {near.value}; this process may use "
        f"{allowed.value} only: at least one of the near ones should be allowed",
        at=[near, allowed],
        measured=allowed.value,
        required=near.value,
        cost="copies cross the link between sockets, and the network thread is late",
        remedy="Widen the CPU set of the job (srun --cpu-bind, --cpus-per-task, cpuset "
        "of the container), or give it the GPUs of the processors that it has.",
        action="FIX_CONFIG",
    )
