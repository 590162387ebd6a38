"""Nodes of one job under different kernels or operating systems.

Why it hurts: a node that missed an update differs in drivers, scheduling and faults,
and is the first to be odd in a way that nobody can repeat elsewhere.

What passes: one release of the kernel and of the operating system on all nodes.

Where it does not apply: a fleet of one node.

Source: GoogleCloudPlatform/cluster-health-scanner, which compares the build.

Bad::

    uname -r    # 6.8.0-1024 on 63 nodes, 5.15.0-119 on one

Good::

    uname -r    # 6.8.0-1024 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("host.kernel_release", "kernel"),
    ComparedNodes("host.operating_system", "operating system"),
)
_ADVICE = Advice(
    required="all nodes of a job should run one",
    remedy="Boot {nodes} from the image of the others.",
    cost="what fails there cannot be repeated elsewhere",
    action="REBOOT",
)


@rule(clause="HW-163")
def host_software_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare kernel and operating system."""
    yield from uniform(fleet, _LEAVES, _ADVICE)
