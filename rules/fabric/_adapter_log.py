"""What rules on lines of an adapter's driver share."""

from speccheck.validator.evidence.node.host import KernelEvents, KernelLog
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Numbers, Verdicts, fail, passed

_DRIVER = "mlx5_core"


class Lines(Numbers):
    """The kinds of lines that tell of the fault."""

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
    if not any(one.driver.need() == _DRIVER for one in devices.each()):
        return
    found = [one for one in events.each() if one.event.need() in limit.events]
    for one in found:
        yield fail(
            f"{one.pci_address.or_else('an adapter')}: {one.count.or_else(1)} times in "
            f"the kernel log: {one.text.or_else(one.event.need())}",
            at=one.event,
            measured=one.count.value,
            required=0,
            cost=cost,
            remedy=remedy,
            action="ISOLATE",
        )
    if not found:
        log.lines.need()
        yield passed(at=log.lines, measured=0, required=0)
