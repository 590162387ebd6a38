"""A launcher that is told to start more processes than the node or pod has GPUs.

Why it hurts: two ranks share one GPU, or the last ones find none. NCCL stops with a
duplicate GPU or an invalid device, after the allocation is granted.

What passes: at least one GPU for each process, of a node and of the whole job.

Where it does not apply: the processes or the GPUs are not stated, or the one follows
from the other; of a node, several tasks of which each starts its own.

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

_WRITTEN = ("stated", "derived")


@rule(clause="COMM-017", about=("recovery.processes_per_node", "cluster.world_size"))
def more_processes_than_gpus(cluster: Cluster, recovery: Recovery) -> Verdicts:
    """Judge processes on a node <= its GPUs, and ranks <= nodes x GPUs."""
    yield from _of_job(cluster)
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


def _of_job(cluster: Cluster) -> Verdicts:
    """Judge the ranks of the job, where they do not follow from its nodes."""
    ranks, nodes, gpus = cluster.world_size, cluster.nodes, cluster.gpus_per_node
    if not all(value.status in _WRITTEN for value in (ranks, nodes, gpus)):
        return
    if not {*ranks.places}.isdisjoint((*nodes.places, *gpus.places)):
        return
    at, there = [ranks, nodes, gpus], nodes.need() * gpus.need()
    if ranks.need() > there:
        yield fail(
            f"{ranks.need():,} ranks are started, and {numbered(nodes.need(), 'node')} "
            f"x {numbered(gpus.need(), 'GPU')} = {there:,}",
            at=at,
            measured=ranks.need(),
            required=there,
            cost="mpirun has too few slots, or two ranks share a GPU",
            remedy=f"Start {there:,} ranks, or ask for GPUs for {ranks.need():,}.",
        )
