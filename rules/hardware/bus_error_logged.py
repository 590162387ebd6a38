"""PCIe errors and lost links in the kernel log.

Why it hurts: a link that has lost a transaction or went down does so again under load:
GPUs fall off the bus, adapters lose their connections.

What passes: no uncorrected error and no link that went down in a log that reaches back
far enough. Errors that the link has corrected are no fault by themselves; in a virtual
machine a link goes down when a volume is detached.

Where it does not apply: nowhere; without access to the log it is unknown.

Source: messages of the Linux kernel (drivers/pci/pcie/aer.c, drivers/pci/hotplug);
NVIDIA/NVSentinel.

Bad::

    dmesg   # pcieport 0000:17:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal)

Good::

    dmesg   # no PCIe Bus Error
"""

from speccheck.rules.hardware._kernel_log import Reach, none_logged, times
from speccheck.validator.evidence.node.host import Host, KernelEvents, KernelLog
from speccheck.validator.rule import Verdicts, fail, rule

_ERROR, _DOWN = "pcie_bus_error", "pcie_link_down"
_BAD = {_ERROR: "an uncorrected PCIe error", _DOWN: "a PCIe link that went down"}


@rule(clause="HW-092")
def bus_error_logged(
    log: KernelLog, events: KernelEvents, host: Host, limit: Reach
) -> Verdicts:
    """Judge what the kernel has logged of the bus."""
    bad = [
        kernel_event
        for kernel_event in events.shown
        if kernel_event.event.value == _ERROR
    ]
    downs = [
        kernel_event
        for kernel_event in events.shown
        if kernel_event.event.value == _DOWN
    ]
    if downs:
        guest = host.virtualisation
        bad += downs if (guest.value if bad else guest.need()) == "none" else []
    for kernel_event in bad:
        where = kernel_event.pci_address.or_else("a device that the line does not name")
        grade = ", fatal" if kernel_event.is_fatal.value else ""
        yield fail(
            f"{where}: {_BAD[kernel_event.event.need()]}{grade}, logged "
            f"{times(kernel_event)}; there "
            "should be none",
            at=kernel_event.event,
            measured=kernel_event.count.or_else(1),
            required=limit.xid_max,
            cost="the device falls off the bus under load, and the job ends",
            remedy=f"See dmesg and lspci -vv -s {where}; reseat the card or cable and "
            "power cycle; replace card or riser if it comes back.",
            action="ISOLATE",
        )
    if not bad:
        yield none_logged(log, events, limit)
