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

from speccheck.validator.evidence.node.kernel_log import KernelEvents, KernelLog
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Failures(Numbers):
    """The kinds of lines that tell of a failed adapter."""

    events: tuple[str, ...]


@rule(clause="FAB-025")
def adapter_broke_down(
    devices: RdmaDevices, events: KernelEvents, log: KernelLog, limit: Failures
) -> Verdicts:
    """Judge the lines of the log."""
    if not any(one.driver.need() == "mlx5_core" for one in devices.each()):
        return
    found = [one for one in events.each() if one.event.need() in limit.events]
    for one in found:
        yield fail(
            f"{one.pci_address.or_else('an adapter')}: {one.count.or_else(1)} times in "
            f"the kernel log: {one.text.or_else(one.event.need())}",
            at=one.event,
            measured=one.count.value,
            required=0,
            cost="connections over the adapter are lost, and the job with them",
            remedy="Power the node off and on; replace the adapter if it comes again.",
            action="ISOLATE",
        )
    if not found:
        log.lines.need()
        yield passed(at=log.lines, measured=0, required=0)
