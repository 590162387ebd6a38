"""What the kernel has logged since it was started."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


class KernelLog(Part):
    """The log as a whole: whether it could be read, and how far back it reaches."""

    __slots__ = ()
    kind = "kernel_log"
    is_single = True

    lines: Value[int]
    first_seconds: Value[float]  # after the start of the kernel
    last_seconds: Value[float]


class KernelEvent(Part):
    """A kind of line that matters, with how often it stands in the log."""

    __slots__ = ()
    kind = "kernel_events"

    # xid, sxid, pcie_bus_error, link_down, machine_check, out_of_memory, hung_task and
    # the others of speccheck/probes/kernel_lines.py
    event: Value[str]
    code: Value[int]  # of an Xid or SXid
    pci_address: Value[str]
    device: Value[str]  # network interface, RDMA device
    count: Value[int]
    first_seconds: Value[float]
    last_seconds: Value[float]
    text: Value[str]  # of the last one
    is_fatal: Value[bool]  # as the driver marks an SXid, the kernel a PCIe error
    is_of_application: Value[bool]  # an Xid that an application causes by itself


class KernelEvents(Parts[KernelEvent]):
    """All events found in the log; unknown where the log cannot be read."""

    __slots__ = ()
    part = KernelEvent
