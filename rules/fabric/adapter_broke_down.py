"""An adapter whose driver reported that it failed.

Why it hurts: the driver resets it, or gives up: all connections over it are lost.

What passes: the kernel log has no line of a failed health check or command.

Where it does not apply: a node without training ports. A log that cannot be read is
unknown.

Source: NVIDIA/NVSentinel, monitor of kernel logs (mlx5_core).

Bad::

    dmesg | grep 'health compromised'

Good::

    dmesg | grep 'health compromised'       # nothing
"""

from speccheck.rules.fabric._adapter_log import Lines, lines_of_driver
from speccheck.validator.evidence.node.host import KernelEvents, KernelLog
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Verdicts, rule


@rule(clause="FAB-025")
def adapter_broke_down(
    devices: RdmaDevices, events: KernelEvents, log: KernelLog, limit: Lines
) -> Verdicts:
    """Judge the lines of the log."""
    return lines_of_driver(
        devices,
        events,
        log,
        limit,
        cost="connections over the adapter are lost, and the job with them",
        remedy="Power the node off and on; replace the adapter if it comes again.",
    )
