"""A machine with fewer cores, memory or drives than its type has.

Why it hurts: a processor that was switched off or a memory module that is lost makes
the node the slowest of the job, or ends it when its memory runs out.

What passes: the sockets, cores, memory and drives of the type; a few per cent of the
memory go to firmware and kernel.

Where it does not apply: types of which the edition has no number. Drives of AWS are not
counted: network volumes are NVMe drives there as well.

Source: Azure/azurehpc-health-checks conf; oracle-quickstart/oci-hpc.

Bad::

    grep MemTotal /proc/meminfo     # 1.7 TiB on a machine with 1.8

Good::

    grep MemTotal /proc/meminfo     # as in the data sheet, less a few per cent
"""

from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.evidence.value import Value
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule

_NVME_CLASS = "0x010802"


class OfType(Numbers):
    """What this type of machine has."""

    sockets: int | None
    cores: int | None
    memory_bytes: int | None
    memory_share: float
    drives: int | None


@rule(clause="HW-081")
def host_part_missing(host: Host, devices: PciDevices, wanted: OfType) -> Verdicts:
    """Judge each part of which the edition has a number."""
    for value, number, what in (
        (host.sockets, wanted.sockets, "sockets"),
        (host.cores, wanted.cores, "cores"),
    ):
        if number is not None:
            has = f"{value.need()} {what}"
            yield _judged(value, has, value.need(), number, f"{number} {what}")
    if wanted.memory_bytes is not None:
        value, least = (
            host.memory_total_bytes,
            wanted.memory_bytes * wanted.memory_share,
        )
        has = f"{gigabytes(value.need())} of memory"
        yield _judged(value, has, value.need(), least, f"at least {gigabytes(least)}")
    if wanted.drives is not None:
        drives = [
            pci_device
            for pci_device in devices.each()
            if pci_device.pci_class.value == _NVME_CLASS
        ]
        has, text = f"{len(drives)} NVMe drives", f"{wanted.drives}"
        yield _judged(devices.count, has, len(drives), wanted.drives, text)


def _judged(
    leaf: Value[int], has: str, value: float, least: float, text: str
) -> Verdict:
    if value >= least:
        return passed(at=leaf, measured=value, required=least)
    return fail(
        f"{has} found; this type of machine has {text}",
        at=leaf,
        measured=value,
        required=least,
        cost="the node is slower than the others, or runs out of memory",
        remedy="Look at dmesg, the log of the BMC and the kernel command line; drain "
        "the node and have the part replaced.",
        action="ISOLATE",
    )
