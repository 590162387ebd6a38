"""A batch script of several nodes that starts its launcher on the first one alone.

Why it hurts: sbatch runs the script on the first node of the job. What no srun starts
elsewhere does not run there: the launcher waits for the other nodes, or trains on one
of those that are paid for.

What passes: srun in front of the launcher.

Where it does not apply: one node; launchers that start the other nodes themselves
(deepspeed by ssh, Ray); scripts in which anything goes to other nodes.

Source: sbatch(1), "the batch script is executed on the first node"; pytorch
torch/distributed/run.py.

Bad::

    #SBATCH --nodes=4
    torchrun --nnodes=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py

Good::

    #SBATCH --nodes=4
    srun torchrun --nnodes=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""

from speccheck.validator.evidence.launch import Launch, Launches, is_certain
from speccheck.validator.rule import Verdicts, fail, passed, rule

_STAY = frozenset({"torchrun", "ft_launcher", "composer"})


@rule(clause="COMM-017", about=("recovery.launcher",))
def launcher_on_first_node_only(account: Launches) -> Verdicts:
    """Judge that a launcher of several nodes is started on more than the first."""
    launches = [launch for launch in account.launches if _is_of_job(launch)]
    if any(launch.spreader.value == "ssh" for launch in account.launches):
        return
    for launch in launches:
        at = [launch.launcher, launch.allocated_nodes, launch.nodes]
        if launch.spreader.value == "srun":
            if launch.nodes_started.or_else(1) > 1:
                yield passed(at=at)
            continue
        if launch.spreader.value != "batch" or not is_certain(launch.nodes):
            continue
        if launch.nodes.need() <= 1:
            continue
        yield fail(
            f"{launch.launcher.need()} waits for {launch.nodes.need():,} nodes, and "
            "the script starts it on the first of "
            f"{launch.allocated_nodes.need():,} alone",
            at=at,
            measured=1,
            required=launch.nodes.need(),
            cost="it waits for the other nodes until the start-up times out",
            remedy=f"Put srun in front of {launch.launcher.need()}.",
        )


def _is_of_job(launch: Launch) -> bool:
    nodes = launch.allocated_nodes
    return launch.launcher.value in _STAY and is_certain(nodes) and nodes.or_else(1) > 1
