"""A job that asks a node for more GPUs than the node has.

Why it hurts: the ranks beyond the last GPU find none, and the launch fails on that node
after the allocation of all nodes is granted. Mostly the files were written for another
type of machine, or a GPU has left the bus.

What passes: a node with at least as many GPUs as the job uses on each.

Where it does not apply: a snapshot by itself, or a job that does not say how many GPUs
of a node it uses.

Source: NVIDIA/nccl src/init.cc (a rank without a device, two ranks on one device).

Bad::

    torchrun --nproc_per_node 8 train.py    # on a node with 7 GPUs

Good::

    torchrun --nproc_per_node 8 train.py    # on a node with 8 GPUs
"""

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-050")
def fewer_gpus_present_than_asked(cluster: Cluster, gpus: Gpus) -> Verdicts:
    """Judge the GPUs of the node against those that the job uses on each."""
    value, present = cluster.gpus_per_node, gpus.count
    if not value.is_known and value.status != "conflict":
        return
    if value.is_known and value.places == present.places:
        return  # the node alone says it
    wanted, number = value.need(), present.need()
    at = [value, present]
    if wanted <= number:
        yield passed(at=at, measured=number, required=wanted)
        return
    yield fail(
        f"the job uses {wanted} GPUs of each node; this one has {number}",
        at=at,
        measured=number,
        required=wanted,
        cost="the launch fails on this node, and with it the job",
        remedy=f"Use {number} GPUs of each node, or another node; if {number} are "
        "fewer "
        "than its type has, take it out of service.",
        action="FIX_CONFIG",
    )
