"""A node that numbers its GPUs otherwise than the rest.

Why it hurts: ranks, NUMA bindings and rails are laid out by the number of the GPU.
Where one node counts otherwise, its ranks talk across sockets and rails, and that node
slows each step.

What passes: GPUs at the same places of the bus in the same order on all nodes.

Where it does not apply: a fleet of one node; virtual machines, whose hypervisor deals
out the places. Nodes with another number of GPUs are judged by that.

Source: an engineering default, from how launchers bind ranks by number.

Bad::

    nvidia-smi --query-gpu=pci.bus_id   # 18, 2A, 3A ... on 63 nodes, 2A, 18 ... on one

Good::

    nvidia-smi --query-gpu=pci.bus_id   # the same list on 64 nodes
"""

from speccheck.validator.comparison.differences import (
    ComparedNodes,
    are_places_fixed,
    differing,
)
from speccheck.validator.comparison.verdicts import Advice, verdicts
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_ORDER = ComparedNodes("gpus.order", "GPUs in order")
_ADVICE = Advice(
    required="all nodes of a job should number their GPUs alike",
    remedy="Look on {nodes} for a GPU in another slot, or drain nodes that are built "
    "otherwise.",
    cost="ranks talk across sockets and rails",
    action="ISOLATE",
)


@rule(clause="TOPO-061")
def gpu_order_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare the places of the GPUs, in order, where there are as many."""
    if len(fleet.nodes) <= 1 or not are_places_fixed(fleet):
        return
    shared = fleet.leaf(_ORDER.leaf)
    first = shared.groups[0].value.count(",")
    alike = tuple(group for group in shared.groups if group.value.count(",") == first)
    others = tuple(group for group in shared.groups if group.value.count(",") != first)
    differences = differing(fleet, [(_ORDER, shared._replace(groups=alike))])
    # Nodes with another number of GPUs tell their order all the same.
    counted = {host for other in others for host in other.hosts}
    untold = tuple(
        untold for untold in differences.untold if not counted.issuperset(untold.hosts)
    )
    yield from verdicts(differences._replace(untold=untold), _ADVICE)
