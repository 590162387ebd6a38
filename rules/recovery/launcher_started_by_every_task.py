"""Several scheduler tasks on a node that each start a launcher of their own.

Why it hurts: with one task for each GPU and a launcher in each, a node starts the
square of its GPUs. The ranks fight over devices and the rendezvous fills up.

What passes: one task on each node that starts one process for each GPU, or one task for
each GPU and no launcher.

Where it does not apply: the number of tasks, processes or GPUs is not known.

Source: TRI-ML/prismatic-vlms issue 39; clessig/atmorep issue 77.

Bad::

    #SBATCH --ntasks-per-node=8
    #SBATCH --gpus-per-node=8
    srun torchrun --nproc-per-node=8 train.py

Good::

    #SBATCH --ntasks-per-node=1
    #SBATCH --gpus-per-node=8
    srun torchrun --nproc-per-node=8 train.py
"""

from speccheck.validator.evidence.launch import Launches
from speccheck.validator.evidence.plan import Cluster, Recovery
from speccheck.validator.rule import Verdicts, fail, passed, rule

_SPREADERS = frozenset({"srun", "mpirun"})


@rule(clause="COMM-017", about=("recovery.tasks_per_node", "recovery.launcher"))
def launcher_started_by_every_task(
    cluster: Cluster, recovery: Recovery, account: Launches
) -> Verdicts:
    """Judge tasks x processes <= GPUs of a node, launch by launch."""
    gpus = cluster.gpus_per_node
    if not gpus.is_known:
        return
    launches = [
        launch
        for launch in account.launches
        if launch.launcher.value != "python" and launch.spreader.value in _SPREADERS
    ]
    pairs = [(launch.tasks, launch.processes_of_task) for launch in launches]
    for tasks, processes in pairs or [
        (recovery.tasks_per_node, recovery.processes_per_node)
    ]:
        if not tasks.is_known or not processes.is_known:
            continue
        started = tasks.need() * processes.need()
        at = [tasks, processes, gpus]
        if started <= gpus.need() or tasks.need() <= 1:
            yield passed(at=at, measured=started, required=gpus.need())
            continue
        yield fail(
            f"{tasks.need()} tasks on a node x {processes.need()} processes = "
            f"{started} ranks for {gpus.need()} GPUs",
            at=at,
            measured=started,
            required=gpus.need(),
            cost="ranks share GPUs, and the rendezvous waits for the wrong number",
            remedy="Start one task on each node, and let the launcher start the rest.",
        )
