"""Nodes of one job with different releases of NCCL or of its network plugin.

Why it hurts: NCCL compares the releases of all ranks and ends initialisation where they
differ. A plugin that only some nodes have sends their traffic over another transport.

What passes: one release of NCCL and the same plugins on all nodes.

Where it does not apply: a fleet of one node. What lies on the node is not what a
container brings: a job in a container may run all the same, so that a node which
differs is a warning.

Source: NVIDIA/nccl src/init.cc (ranks of another release);
GoogleCloudPlatform/cluster-health-scanner.

Bad::

    libnccl.so.2.27.3 on 63 nodes, libnccl.so.2.21.5 on one

Good::

    libnccl.so.2.27.3 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("driver.nccl_version", "NCCL"),
    ComparedNodes("driver.nccl_plugins", "plugins of NCCL", is_needed=False),
    ComparedNodes(
        "driver.nccl_plugin_releases", "releases of plugins", is_needed=False
    ),
)
_ADVICE = Advice(
    required="all ranks of a job must load one (this is NCCL on the node; a container "
    "brings its own)",
    remedy="Bring {nodes} to the release of the others, or see by NCCL_DEBUG=VERSION "
    "that the job loads NCCL from its container.",
    cost="initialisation ends with a mismatched version, or nodes differ in transport",
    action="FIX_CONFIG",
)


@rule(clause="COMM-016", confidence="calibrated")
def nccl_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare NCCL and its plugins as they lie on the nodes."""
    yield from uniform(fleet, _LEAVES, _ADVICE)
