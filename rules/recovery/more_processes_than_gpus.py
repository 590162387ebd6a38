"""A launcher that is told to start more processes than the node or pod has GPUs.

Why it hurts: two ranks share one GPU, or the last ones find none. NCCL stops with a
duplicate GPU or an invalid device, after the allocation is granted.

What passes: at least one GPU for each process.

Where it does not apply: the processes or the GPUs of a node are not stated, or the GPUs
follow from the processes; several tasks on a node, of which each starts its own.

Source: PyTorch torch/distributed/run.py (--nproc-per-node); NVIDIA/nccl duplicate GPU
test in init.cc; kubeflow/training-operator nprocPerNode.

Bad::

    nprocPerNode: "8"
    resources: {limits: {nvidia.com/gpu: 4}}

Good::

    nprocPerNode: "8"
    resources: {limits: {nvidia.com/gpu: 8}}
"""

from speccheck.validator.evidence.plan import Cluster, Recovery
from speccheck.validator.models.units import numbered
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-017", about=("recovery.processes_per_node",))
def more_processes_than_gpus(cluster: Cluster, recovery: Recovery) -> Verdicts:
    """Judge processes on a node <= its GPUs."""
    processes, gpus = recovery.processes_per_node, cluster.gpus_per_node
    if not processes.is_known or not gpus.is_known:
        return
    if recovery.tasks_per_node.or_else(1) > 1 or gpus.places == processes.places:
        return
    at = [gpus, processes]
    if processes.need() <= gpus.need():
        yield passed(at=at, measured=processes.need(), required=gpus.need())
        return
    yield fail(
        f"{processes.need()} processes start on a node or pod that has "
        f"{numbered(gpus.need(), 'GPU')}",
        at=at,
        measured=processes.need(),
        required=gpus.need(),
        cost="NCCL stops at start-up, after the allocation is granted",
        remedy=f"Ask for {processes.need()} GPUs, or start a process for each of "
        "those that are there.",
    )
