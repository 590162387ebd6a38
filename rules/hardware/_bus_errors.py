"""The counters of PCIe errors of GPUs and adapters."""

from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import PciDevices
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed

_NO_COUNTER = {"absent", "not_supported"}  # the kernel or the GPU counts none


class Errors(Numbers):
    """The most PCIe errors that a device may have counted."""

    errors_max: int


class Counters(Record):
    """PCIe error counters of the devices of a node.

    counts: the title of a device and its counter.
    without: titles of devices that are not on the bus.
    """

    counts: tuple[tuple[str, Value[int]], ...]
    without: tuple[str, ...]

    def need(self) -> bool:
        """Return whether there is one; raises MissingEvidence for an unknown one."""
        for _, leaf in self.counts:
            leaf.need()
        if self.without:
            name = "pci_devices"
            reason = f"{', '.join(self.without)} not in the list"
            raise MissingEvidence(name, reason)
        return bool(self.counts)


def _counters(
    gpus: Gpus, adapters: RdmaDevices, devices: PciDevices, kind: str
) -> Counters:
    """Return the driver's counters by GPU, and the kernel's by GPU and RDMA device."""
    known = {
        pci_device.address.value: pci_device
        for pci_device in devices.shown
        if pci_device.address.is_known
    }
    pairs: list[tuple[str, Value[int]]] = [
        (gpu.title, getattr(gpu, f"pcie_{kind}_errors")) for gpu in gpus.shown
    ]
    without: list[str] = []
    for part in (*gpus.shown, *adapters.shown):
        device = known.get(part.pci_address.or_else(""))
        if device is None:
            without.append(part.title)
        else:
            pairs.append((part.title, getattr(device, f"{kind}_errors")))
    result = ((title, leaf) for title, leaf in pairs if leaf.status not in _NO_COUNTER)
    return Counters(tuple(result), tuple(without))


def _failure(title: str, leaf: Value[int], kind: str, action: Action) -> Verdict:
    """Return a failure: so many errors of a device."""
    return fail(
        f"{title} has counted {leaf.value:,} {kind} PCIe errors since boot; there "
        "should be none",
        at=leaf,
        measured=leaf.value,
        required=0,
        cost="the link fails again under load, and the job with it",
        remedy="See dmesg for AER lines of that address, and lspci -vv (UESta); drain "
        "the node, power cycle it and read again; then reseat or replace the card.",
        action=action,
    )


def judged(
    gpus: Gpus,
    adapters: RdmaDevices,
    devices: PciDevices,
    limit: Errors,
    *,
    kind: str,
    action: Action,
) -> Verdicts:
    """Judge the counters of one kind, `fatal` or `non_fatal`."""
    counts = _counters(gpus, adapters, devices, kind)
    word = "fatal" if kind == "fatal" else "uncorrected"
    is_well = True
    for title, leaf in counts.counts:
        if leaf.or_else(0) > limit.errors_max:
            is_well = False
            yield _failure(title, leaf, word, action)
    if is_well and gpus.each() and adapters.count.need() >= 0 and counts.need():
        at = [leaf for _, leaf in counts.counts]
        yield passed(at=at, measured=0, required=limit.errors_max)
