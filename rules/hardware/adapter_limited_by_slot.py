"""An adapter that says that its slot gives too little bandwidth or power.

Why it hurts: the port cannot reach its rate, or lowers it when a module needs more
power than the slot announces.

What passes: a log that reaches back to the start of the adapter's driver, without such
a line.

Where it does not apply: nowhere; without access to the log it is unknown. A card for a
later PCIe generation than the host has says so as well, and may be well as it is: this
is told for information.

Source: messages of drivers/pci/pci.c and of mlx5_core; NVIDIA/NVSentinel;
imbue-ai/cluster-health.

Bad::

    dmesg   # mlx5_core 0000:80:00.0: 63.0 Gb/s available PCIe bandwidth, limited by

Good::

    dmesg   # mlx5_core 0000:80:00.0: 252.048 Gb/s available PCIe bandwidth (...)
"""

from speccheck.rules.hardware._kernel_log import Reach, none_logged
from speccheck.validator.evidence.node.host import KernelEvents, KernelLog
from speccheck.validator.rule import Verdicts, fail, rule

_BAD = {
    "pcie_bandwidth_limited": "the PCIe slot gives it less bandwidth than it can use",
    "pcie_slot_power": "the PCIe slot announces less power than it needs",
}


@rule(clause="HW-094")
def adapter_limited_by_slot(
    log: KernelLog, events: KernelEvents, limit: Reach
) -> Verdicts:
    """Judge what drivers have logged of their slots."""
    bad = [
        kernel_event
        for kernel_event in events.shown
        if kernel_event.event.or_else("") in _BAD
    ]
    for kernel_event in bad:
        where = kernel_event.pci_address.or_else(
            "an adapter that the line does not name"
        )
        yield fail(
            f"{where}: {_BAD[kernel_event.event.need()]}: "
            f"{kernel_event.text.or_else('')}".rstrip(": "),
            at=kernel_event.event,
            measured=kernel_event.count.or_else(1),
            required=limit.xid_max,
            remedy=f"See lspci -vv -s {where} (LnkCap, LnkSta) and mlxlink; move the "
            "card to a slot that is wired for it, or leave it if the host has no "
            "better one.",
            action="MONITOR",
        )
    if not bad:
        yield none_logged(log, events, limit)
