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

from speccheck.validator.evidence.node.kernel_log import KernelEvents, KernelLog
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Faults(Numbers):
    """The kinds of lines that tell of a module in trouble."""

    events: tuple[str, ...]


@rule(clause="FAB-026")
def module_hot_or_pulled(
    devices: RdmaDevices, events: KernelEvents, log: KernelLog, limit: Faults
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
            cost="the link is lost, and the job with it",
            remedy="Reseat the module, look at fans and air flow, then replace it.",
            action="ISOLATE",
        )
    if not found:
        log.lines.need()
        yield passed(at=log.lines, measured=0, required=0)
