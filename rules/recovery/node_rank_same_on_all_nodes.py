"""A node rank that is the same on every node of a job.

Why it hurts: each node takes itself for the same one. Two that claim rank 0 train
twice, or wait for a node 1 that never comes.

What passes: a number that is made on the node: $SLURM_NODEID inside the quotes of
`bash -c '...'`, or in the script that srun starts. The shell of the batch script has
SLURM_NODEID=0, for all nodes.

Where it does not apply: ranks that c10d hands out, which makes the number inert; one
node; launches that each node starts by a command of its own.

Source: pytorch torch/distributed/run.py (--node-rank); Oneflow-Inc/DLPerf issue 113;
Slurm 22.05, whose batch step has SLURM_PROCID, SLURM_NODEID and SLURM_LOCALID 0.

Bad::

    srun torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$HEAD train.py

Good::

    srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID ... train.py'
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.launch import Launch, Launches, is_certain
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LOCAL = frozenset({"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"})


@rule(clause="COMM-017", about=("recovery.launcher",))
def node_rank_same_on_all_nodes(
    account: Launches, environment: Environment
) -> Verdicts:
    """Judge where the number of a node comes from, where one command starts several."""
    for launch in account.on_several_nodes():
        started = launch.nodes_started
        if not launch.rendezvous.is_static or not is_certain(launch.nodes):
            continue
        if launch.spreader.value not in {"srun", "mpirun"} or not is_certain(started):
            continue
        if started.need() <= 1:
            continue
        rank = launch.node_rank.number
        if rank.status == "default" and environment.sets("PET_*"):
            continue
        at = [rank, launch.spreader, launch.nodes]
        why = _why_same(launch)
        if not why:
            if launch.node_rank.expanded == "task":
                yield passed(at=at)
            continue
        yield fail(
            f"{launch.spreader.need()} starts {started.need():,} nodes, all with the "
            f"same node rank: {why}",
            at=at,
            measured=rank.value if rank.is_known else "0",
            required="a rank of its own for each node",
            cost="the nodes wait for each other until the start-up times out",
            remedy="Let c10d number the nodes (torchrun: --rdzv-backend=c10d "
            "--rdzv-endpoint=HOST:PORT), or expand $SLURM_NODEID on the node: srun "
            "bash -c '... $SLURM_NODEID ...'.",
        )


def _why_same(launch: Launch) -> str:
    """Return why a node rank does not change from node to node; empty where it may."""
    number, variable, expanded = launch.node_rank
    if is_certain(number):
        return f"{number.need()}, as written"
    if number.status == "default":
        return f"{number.need()}, as none is given"
    if expanded == "script":
        return f"the batch script expands ${variable}, once, before the nodes start"
    if expanded == "task" and variable in _LOCAL:
        return f"${variable} counts the tasks of one node and begins at 0 on each"
    return ""
