"""A WORLD_SIZE that the script states and that is not the number of its tasks.

Why it hurts: the program takes its number of ranks from WORLD_SIZE. With fewer tasks it
waits for ranks that nobody starts; with more, those beyond it stop.

What passes: WORLD_SIZE = nodes x tasks on a node, better worked out from SLURM_NTASKS.

Where it does not apply: torchrun and other launchers, which set WORLD_SIZE themselves;
nodes, tasks or a WORLD_SIZE that only the job knows.

Source: pytorch torch/distributed/rendezvous.py (env://).

Bad::

    #SBATCH --nodes=4
    #SBATCH --ntasks-per-node=8
    export WORLD_SIZE=16
    srun python train.py

Good::

    #SBATCH --nodes=4
    #SBATCH --ntasks-per-node=8
    export WORLD_SIZE=32
    srun python train.py
"""

from speccheck.validator.evidence.launch import Launches, is_certain
from speccheck.validator.rule import Verdicts, fail, passed, rule

_VARIABLE = "WORLD_SIZE"


@rule(clause="COMM-017", confidence="advisory", about=("cluster.nodes",))
def world_size_unlike_tasks(account: Launches) -> Verdicts:
    """Judge WORLD_SIZE = nodes x tasks of each program that srun starts."""
    for launch in account.launches:
        world, nodes, tasks = launch.world, launch.nodes_started, launch.tasks
        if not is_certain(world) or world.places[0].key != _VARIABLE:
            continue
        if not is_certain(nodes) or not is_certain(tasks):
            continue
        started = nodes.need() * tasks.need()
        at = [world, nodes, tasks]
        if world.need() == started:
            yield passed(at=at, measured=world.need(), required=started)
            continue
        yield fail(
            f"{_VARIABLE} is {world.need():,}, and {launch.spreader.or_else('srun')} "
            f"starts {nodes.need():,} nodes x {tasks.need():,} tasks = {started:,} "
            "ranks",
            at=at,
            measured=world.need(),
            required=started,
            cost="the ranks wait for others that never start, or stop",
            remedy=f"export {_VARIABLE}=$SLURM_NTASKS.",
        )
