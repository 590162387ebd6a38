"""A host of another shape: fewer cores, less memory, another machine type.

Why it hurts: loaders, bindings and offload are sized for one shape. A host that lost a
memory module, a socket or half of its threads feeds its GPUs slower than the others, or
runs out of memory first.

What passes: one machine type, one count of sockets, cores, processors and NUMA nodes,
and memory within the share that counts as equal.

Where it does not apply: a fleet of one node.

Source: mej/nhc, checks of processors and memory.

Bad::

    lscpu | grep '^CPU(s)'    # 224 on 63 nodes, 112 on one: threads are off

Good::

    lscpu | grep '^CPU(s)'    # 224 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Numbers, Verdicts, rule

_ADVICE = Advice(
    required="hosts of one job should be of one shape",
    remedy="Compare lscpu and dmidecode -t memory of {nodes} with another node: "
    "replace the module, turn on what firmware turned off, or leave them out.",
    cost="loaders and bindings that fit the others do not fit here",
    action="ISOLATE",
)


class Equal(Numbers):
    """The share of the memory by which hosts may differ."""

    memory_share: float


@rule(clause="HW-162")
def host_shape_differs_across_nodes(fleet: Fleet, equal: Equal) -> Verdicts:
    """Compare machine type, processors and memory."""
    leaves = (
        ComparedNodes("host.instance_type", "machine type", is_needed=False),
        ComparedNodes("host.processor_model", "processor", is_needed=False),
        ComparedNodes("host.sockets", "sockets", is_needed=False),
        ComparedNodes("host.cores", "cores"),
        ComparedNodes("host.processors", "processors"),
        ComparedNodes("host.numa_nodes", "NUMA nodes"),
        ComparedNodes("host.virtualisation", "virtualisation", is_needed=False),
        ComparedNodes(
            "host.memory_total_bytes",
            "memory",
            share=equal.memory_share,
            is_size=True,
        ),
    )
    yield from uniform(fleet, leaves, _ADVICE)
