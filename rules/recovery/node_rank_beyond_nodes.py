"""A node whose number is not below the number of nodes.

Why it hurts: no process has rank 0, or some have a rank beyond the world: nobody opens
the port of the rendezvous, and all wait until the start-up times out.

What passes: node ranks from 0 to nodes - 1.

Where it does not apply: ranks that c10d hands out; numbers that only the job knows,
unless they are those of tasks and several run on a node.

Source: pytorch torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py;
FoundationVision/VAR issue 108; scripts/training/launch_with_sbatch.sh of
Megatron-Bridge.

Bad::

    torchrun --nnodes=1 --node_rank=3 --nproc_per_node=4 train.py

Good::

    torchrun --nnodes=1 --node_rank=0 --nproc_per_node=4 train.py
"""

from collections.abc import Iterator

from speccheck.validator.evidence.launch import Launch, Launches, is_certain
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule

# Numbers of tasks, which go on from node to node.
_OF_TASKS = frozenset({"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})


@rule(clause="COMM-017", about=("recovery.launcher",))
def node_rank_beyond_nodes(account: Launches) -> Verdicts:
    """Judge node rank < nodes, for each launch that takes its rank as it is given."""
    for launch in account.launches:
        if launch.rendezvous.is_static and is_certain(launch.nodes):
            yield from _of_number(launch)
            yield from _of_tasks(launch)


def _of_number(launch: Launch) -> Iterator[Verdict]:
    """Judge a number that stands in the command."""
    rank, nodes = launch.node_rank.number, launch.nodes
    if not is_certain(rank):
        return
    at = [rank, nodes]
    if rank.need() < nodes.need():
        yield passed(at=at, measured=rank.need(), required=nodes.need() - 1)
        return
    several = "s" if nodes.need() > 1 else ""
    yield fail(
        f"node rank {rank.need()} of {nodes.need():,} node{several}: the ranks of "
        f"nodes go from 0 to {nodes.need() - 1}",
        at=at,
        measured=rank.need(),
        required=nodes.need() - 1,
        cost="the launcher waits for a node 0 that is not there",
        remedy=f"Give a node rank from 0 to {nodes.need() - 1}, or the number of nodes "
        "that the job has.",
    )


def _of_tasks(launch: Launch) -> Iterator[Verdict]:
    """Judge the number of a task in the place of that of its node."""
    variable, tasks, nodes = launch.node_rank.variable, launch.tasks, launch.nodes
    if variable not in _OF_TASKS or launch.node_rank.expanded != "task":
        return
    if not tasks.is_known or not is_certain(launch.nodes_started):
        return
    at = [*launch.node_rank.number.places, *tasks.places, *nodes.places]
    last = tasks.need() * launch.nodes_started.need() - 1
    if tasks.need() == 1:
        yield passed(at=at, measured=last, required=nodes.need() - 1)
    elif is_certain(tasks):
        yield fail(
            f"{variable} numbers tasks: {launch.nodes_started.need():,} nodes x "
            f"{tasks.need()} tasks make it 0 to {last:,}, and there are "
            f"{nodes.need():,} nodes",
            at=at,
            measured=last,
            required=nodes.need() - 1,
            cost="launchers with a node rank beyond the last one never join",
            remedy="Start one task on each node, or one for each GPU and no launcher.",
        )
