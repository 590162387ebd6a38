"""Hosts that were booted or set up otherwise than the rest.

Why it hurts: kernel arguments and the settings of firmware show here. An IOMMU that
translates takes the direct way between GPU and adapter; a governor that saves power or
a slow clock source costs each launch of a kernel. One such node slows all.

What passes: kernel arguments that training is judged by, governors, clock source, NUMA
balancing and transparent huge pages alike on all nodes.

Where it does not apply: a fleet of one node. Arguments that name a disk or an image are
not compared.

Source: an engineering default; what each should be is for the rules on each node.

Bad::

    cat /proc/cmdline    # iommu=pt on 63 nodes, nothing of it on one

Good::

    cat /proc/cmdline    # iommu=pt on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("host.kernel_arguments", "kernel arguments"),
    ComparedNodes("host.governors", "governors", is_needed=False),
    ComparedNodes("host.clock_source", "clock source"),
    ComparedNodes("host.numa_balancing", "NUMA balancing", is_needed=False),
    ComparedNodes(
        "host.transparent_hugepages", "transparent huge pages", is_needed=False
    ),
)
_ADVICE = Advice(
    required="all nodes of a job should be set up alike",
    remedy="Compare /proc/cmdline and the firmware settings of {nodes} with another "
    "node, set them alike, and reboot.",
    cost="one node of another kind slows all",
    action="REBOOT",
)


@rule(clause="HW-164")
def host_settings_differ_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare the kernel's arguments and settings."""
    yield from uniform(fleet, _LEAVES, _ADVICE)
