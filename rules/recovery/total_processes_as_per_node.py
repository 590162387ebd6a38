"""The number of processes in all, given as that of one node.

Why it hurts: accelerate divides --num_processes by --num_machines. Eight processes over
four nodes are two a node: six of eight GPUs are idle, and the batch is a quarter of
what was meant.

What passes: nodes x processes of a node.

Where it does not apply: one node; launchers whose number is that of a node; nodes whose
GPUs nobody states.

Source: huggingface/accelerate commands/launch.py (num_processes // num_machines), issue
2521.

Bad::

    #SBATCH --gpus-per-node=8
    accelerate launch --num_machines 4 --num_processes 8 train.py

Good::

    #SBATCH --gpus-per-node=8
    accelerate launch --num_machines 4 --num_processes 32 train.py
"""

from speccheck.validator.evidence.launch import Launches, is_certain
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-017", about=("cluster.world_size",))
def total_processes_as_per_node(account: Launches) -> Verdicts:
    """Judge processes in all = nodes x processes of a node."""
    for launch in account.on_several_nodes():
        world, nodes, gpus = launch.world, launch.nodes, launch.allocated_gpus
        if launch.launcher.value != "accelerate" or launch.tasks.or_else(1) != 1:
            continue
        if not is_certain(world) or not is_certain(nodes):
            continue
        ranks, count = world.need(), nodes.need()
        at = [world, nodes, gpus]
        if ranks % count:
            said = f"{ranks:,} processes do not part into {count:,} nodes"
            required = -(-ranks // count) * count
        elif is_certain(gpus) and ranks == gpus.need():
            each = ranks // count
            required = count * gpus.need()
            said = (
                f"{ranks:,} processes in all / {count:,} nodes = {each} a node, and a "
                f"node has {gpus.need()} GPUs"
            )
        else:
            if is_certain(gpus):
                yield passed(at=at, measured=ranks, required=count * gpus.need())
            continue
        if is_certain(gpus):
            required = count * gpus.need()
        flag = world.places[0].key
        yield fail(
            said,
            at=at,
            measured=ranks,
            required=required,
            cost="GPUs of every node stay idle, or ranks are missing",
            remedy=f"{flag} counts the processes of all nodes: set it to {required:,}.",
        )
