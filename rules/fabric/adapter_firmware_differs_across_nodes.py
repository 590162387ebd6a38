"""RDMA adapters of one board with another firmware on some nodes.

Why it hurts: releases differ in congestion control and in faults; the slower nodes are
hard to find afterwards.

What passes: one release of firmware on each type of board over all nodes, under one
release of the driver stack (OFED).

Where it does not apply: a fleet of one node; EFA, whose firmware is the provider's.

Source: facebookresearch/gcm, check of InfiniBand firmware.

Bad::

    cat /sys/class/infiniband/mlx5_0/fw_ver   # 28.43.2026, on one node 28.39.1002

Good::

    cat /sys/class/infiniband/mlx5_0/fw_ver   # 28.43.2026 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_LEAVES = (
    ComparedNodes("rdma_devices.firmware_version", "firmware of adapters"),
    ComparedNodes("driver.ofed_version", "OFED", is_needed=False),
)
_ADVICE = Advice(
    required="equal boards should run one release",
    remedy="Bring {nodes} to the release of the others: mlxfwmanager, then mlxfwreset "
    "in a maintenance window.",
    cost="nodes behave differently under load",
    action="SUPPORT",
)


@rule(clause="FAB-064")
def adapter_firmware_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare firmware by type of board, and the driver stack."""
    yield from uniform(fleet, _LEAVES, _ADVICE)
