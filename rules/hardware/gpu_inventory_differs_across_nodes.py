"""A node of the job with other GPUs than the rest.

Why it hurts: a node with a GPU less breaks the map of ranks; one with another model,
less memory or partitions is the smallest and slowest of all, and sets the pace.

What passes: one number of GPUs, one model, one size of memory within the share that
counts as equal, and partitions on all nodes or on none.

Where it does not apply: a fleet of one node. What a type of machine should have is for
the rules on each node.

Source: NVIDIA/cluster-readiness-engine; microsoft/superbenchmark;
Azure/azurehpc-health-checks.

Bad::

    nvidia-smi -L | wc -l    # 8 on 63 nodes, 7 on one

Good::

    nvidia-smi -L | wc -l    # 8 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Numbers, Verdicts, rule

_ADVICE = Advice(
    required="all nodes of a job must have the same GPUs",
    remedy="Look at {nodes}: nvidia-smi -L and lspci; reboot once, reseat or replace "
    "the GPU, or leave the node out of this job.",
    cost="ranks do not fit the nodes, or all wait for the smallest",
    action="ISOLATE",
)


class Equal(Numbers):
    """The share of the memory that a GPU may lack."""

    memory_share: float


@rule(clause="HW-001")
def gpu_inventory_differs_across_nodes(fleet: Fleet, equal: Equal) -> Verdicts:
    """Compare number, model, memory and partitions."""
    memory = ComparedNodes(
        "gpus.memory_total_bytes",
        "memory of GPUs",
        is_needed=False,
        share=1 - equal.memory_share,
        is_size=True,
    )
    leaves = (
        ComparedNodes("gpus", "GPUs"),
        ComparedNodes("gpus.name", "model"),
        memory,
        ComparedNodes("gpus.mig_is_on", "partitions (MIG)", is_needed=False),
    )
    yield from uniform(fleet, leaves, _ADVICE)
