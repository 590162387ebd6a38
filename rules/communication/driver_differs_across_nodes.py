"""Nodes of one job with different drivers.

Why it hurts: what NCCL may use - multicast in the switches, memory that several nodes
share, RDMA to the GPU - is a matter of the driver. Ranks that find different answers
fail at their start, hang, or agree on the slowest.

What passes: one release of the driver and of the CUDA that comes with it on all nodes.
Kernel module, firmware of the GPU's own processor and fabric manager come with it, and
are told beside it.

Where it does not apply: a fleet of one node. Where no release is on more than half of
the nodes, nobody can say which nodes are odd, and the groups are told.

Source: GoogleCloudPlatform/cluster-health-scanner, which compares the same.

Bad::

    nvidia-smi --query-gpu=driver_version   # 570.124.06 on 63 nodes, 550.54.15 on one

Good::

    nvidia-smi --query-gpu=driver_version   # 570.124.06 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("driver.version", "driver"),
    ComparedNodes("driver.cuda_version", "CUDA of the driver"),
    ComparedNodes("driver.kernel_module_version", "kernel module", is_needed=False),
    ComparedNodes(
        "driver.kernel_module_is_open", "open kernel module", is_needed=False
    ),
    ComparedNodes("gpus.gsp_firmware_version", "GSP firmware", is_needed=False),
    ComparedNodes("driver.fabric_manager_version", "fabric manager", is_needed=False),
)
_ADVICE = Advice(
    required="all nodes of a job must have one",
    remedy="Bring {nodes} to the driver of the others, with the fabric manager of its "
    "release, or drain them.",
    cost="initialisation fails or hangs, or all ranks take the slower way",
    action="FIX_CONFIG",
)


@rule(clause="COMM-016")
def driver_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare the driver and what comes with it."""
    yield from uniform(fleet, _LEAVES, _ADVICE)
