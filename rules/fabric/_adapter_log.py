"""What rules on lines of an adapter's driver share."""

from speccheck.validator.evidence.node.host import KernelEvents, KernelLog
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Numbers, Verdicts, fail, passed

_DRIVER = "mlx5_core"


class Lines(Numbers):
    """The kinds of kernel log lines that report the fault."""

    events: tuple[str, ...]


def lines_of_driver(
    devices: RdmaDevices,
    events: KernelEvents,
    log: KernelLog,
    limit: Lines,
    *,
    cost: str,
    remedy: str,
) -> Verdicts:
    """Judge the lines of the log; nothing on a node without such an adapter."""
    if not any(rdma_device.driver.need() == _DRIVER for rdma_device in devices.each()):
        return
    kernel_events = [
        kernel_event
        for kernel_event in events.each()
        if kernel_event.event.need() in limit.events
    ]
    for kernel_event in kernel_events:
        yield fail(
            f"{kernel_event.pci_address.or_else('an adapter')}: "
            f"{kernel_event.count.or_else(1)} times in "
            f"the kernel log: {kernel_event.text.or_else(kernel_event.event.need())}",
            at=kernel_event.event,
            measured=kernel_event.count.value,
            required=0,
            cost=cost,
            remedy=remedy,
            action="ISOLATE",
        )
    if not kernel_events:
        log.lines.need()
        yield passed(at=log.lines, measured=0, required=0)
