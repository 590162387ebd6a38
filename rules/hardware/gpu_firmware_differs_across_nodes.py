"""GPUs of one name with another VBIOS on some nodes.

Why it hurts: clocks, limits of power and faults differ with it, and the nodes with the
older one become the stragglers that nobody can explain.

What passes: one VBIOS on all nodes. Its GSP firmware comes with the driver, which is
compared by itself.

Where it does not apply: a fleet of one node; nodes whose own GPUs differ, which rules
on each node find. Fleets of several models or batches have several by right: then the
groups are told, and no node is called odd.

Source: Azure/azurehpc-health-checks, check of the VBIOS.

Bad::

    nvidia-smi --query-gpu=vbios_version   # 96.00.89.00.01, on one node 96.00.61.00.02

Good::

    nvidia-smi --query-gpu=vbios_version   # 96.00.89.00.01 on all
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("gpus.vbios_version", "VBIOS", is_of_parts=True),
    ComparedNodes(
        "gpus.board_part_number", "part number", is_needed=False, is_of_parts=True
    ),
)
_ADVICE = Advice(
    required="GPUs of one name should have one",
    remedy="Bring {nodes} to the firmware bundle of the others.",
    cost="clocks and limits differ; all ranks wait for the slowest",
    action="SUPPORT",
)


@rule(clause="HW-160")
def gpu_firmware_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare the VBIOS, and with it the part number of the boards."""
    yield from uniform(fleet, _LEAVES, _ADVICE)
