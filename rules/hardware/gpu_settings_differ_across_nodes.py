"""GPUs that are set up otherwise on some nodes.

Why it hurts: a collective waits for the slowest GPU of all. Clocks that somebody pinned
for a measurement, or a link that comes up a generation lower, slow every node, and a
node without error correction is the one whose results nobody can trust.

What passes: error correction, clocks and PCIe generation alike on all nodes.

Where it does not apply: a fleet of one node. What each of them should be, and nodes
whose own GPUs differ, are for the rules on each node.

Source: Azure/azurehpc-health-checks; facebookresearch/gcm.

Bad::

    nvidia-smi -q -d CLOCK   # Max SM 1980 MHz on 63 nodes, applications 1200 MHz on one

Good::

    nvidia-smi -q -d CLOCK   # alike on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("gpus.ecc_is_on", "error correction", is_of_parts=True),
    ComparedNodes("gpus.pcie_generation_maximum", "PCIe generation", is_of_parts=True),
    ComparedNodes(
        "gpus.sm_clock_maximum_mhz", "highest SM clock (MHz)", is_of_parts=True
    ),
    ComparedNodes(
        "gpus.application_sm_clock_mhz",
        "applications' SM clock (MHz)",
        is_needed=False,
        is_of_parts=True,
    ),
)
_ADVICE = Advice(
    required="GPUs of all nodes should be set up alike",
    remedy="Compare nvidia-smi -q of {nodes} with another node, set it alike, and put "
    "that into the image.",
    cost="all ranks wait for the slowest",
    action="FIX_CONFIG",
)


@rule(clause="HW-161")
def gpu_settings_differ_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare error correction, clocks and generation."""
    yield from uniform(fleet, _LEAVES, _ADVICE)
