"""A cable or transceiver that was pulled out, or became too hot.

Why it hurts: the adapter switches a hot module off: the rail is lost.

What passes: the kernel log has no line of a high temperature or a lost module.

Where it does not apply: a node without training ports. A log that cannot be read is
unknown.

Source: NVIDIA/NVSentinel, monitor of kernel logs (mlx5_core).

Bad::

    dmesg | grep 'High Temperature'

Good::

    dmesg | grep 'High Temperature'       # nothing
"""

from speccheck.rules.fabric._adapter_log import Lines, lines_of_driver
from speccheck.validator.evidence.node.host import KernelEvents, KernelLog
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, rule


@rule(clause="FAB-026")
def module_hot_or_pulled(
    devices: RdmaDevices, events: KernelEvents, log: KernelLog, limit: Lines
) -> Verdicts:
    """Judge the lines of the log."""
    return lines_of_driver(
        devices,
        events,
        log,
        limit,
        cost="the link is lost, and the job with it",
        remedy="Reseat the module, look at fans and air flow, then replace it.",
    )
