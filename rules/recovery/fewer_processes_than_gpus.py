"""A launcher that leaves GPUs of the pod, or of the allocation, without a rank.

Why it hurts: the GPUs that were asked for are paid for and cannot be used by others. It
is the usual leftover of a smaller test.

What passes: as many processes as GPUs.

Where it does not apply: the processes or the GPUs of a node are not stated; several
tasks on a node, of which each starts its own; work with generation engines beside the
training. A launcher that starts more than an allocation of Slurm has is a
contradiction, which conflicting_statements names.

Source: arithmetic.

Bad::

    nprocPerNode: "4"
    ...limits: {nvidia.com/gpu: 8}

Good::

    nprocPerNode: "8"
    ...limits: {nvidia.com/gpu: 8}
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import Cluster, Recovery, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="COMM-052",
    confidence="advisory",
    about=("recovery.processes_per_node",),
)
def fewer_processes_than_gpus(
    cluster: Cluster, recovery: Recovery, run: Run, environment: Environment
) -> Verdicts:
    """Judge processes on a node = its GPUs, where both are stated."""
    processes, gpus = recovery.processes_per_node, cluster.gpus_per_node
    both = "stated", "derived"
    if processes.status not in both or gpus.status not in both:
        return
    if recovery.tasks_per_node.or_else(1) > 1 or gpus.places == processes.places:
        return
    if run.role.value == "rl":
        return
    started, there = processes.need(), gpus.need()
    at = [processes, gpus]
    if started >= there:
        yield passed(at=at, measured=started, required=there)
        return
    if environment.sets("CUDA_VISIBLE_DEVICES"):
        return
    yield fail(
        f"{started} ranks on a node with {there} GPUs: {there - started} do nothing",
        at=at,
        measured=started,
        required=there,
        cost=f"{1 - started / there:.0%} of the GPUs are paid for nothing",
        remedy=f"Start {there} processes, or ask for {started} GPUs.",
    )
