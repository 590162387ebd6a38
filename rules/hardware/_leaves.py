"""What rules on many leaves of one GPU share."""

from collections.abc import Iterator
from typing import Any

from speccheck.validator.evidence.node.fault_codes import BANKS
from speccheck.validator.evidence.node.gpu import Numbers
from speccheck.validator.evidence.node.host import NVIDIA_VENDOR, PciDevice
from speccheck.validator.evidence.value import MissingEvidence, Value

_DISPLAY = ("0x0302", "0x0300")
_DRIVER = "nvidia"


def supported(*leaves: Value[Any]) -> tuple[Value[Any], ...]:
    """Return the leaves that the GPU has; what it lacks by design says nothing."""
    return tuple(leaf for leaf in leaves if leaf.status != "not_supported")


def needed(*leaves: Value[Any]) -> Iterator[Value[Any]]:
    """Yield the leaves that the GPU has; raises MissingEvidence for an unknown one."""
    for leaf in supported(*leaves):
        leaf.need()
        yield leaf


def short_banks(banks: Value[Numbers]) -> tuple[int, int]:
    """Return how many banks of memory have few spare rows, and how many have none.

    None where the GPU does not count; raises MissingEvidence for half a count.
    """
    if not banks.is_known:
        return 0, 0
    numbers = [number for number in banks.need() if number is not None]
    if len(numbers) != len(BANKS):
        reason = f"{len(numbers)} of {len(BANKS)} counts can be read"
        raise MissingEvidence(banks.name, reason)
    return numbers[-2], numbers[-1]


def is_gpu_function(device: PciDevice) -> bool:
    """Return whether a function on the bus is a GPU of NVIDIA, under any driver."""
    is_display = device.pci_class.or_else("").startswith(_DISPLAY)
    return is_display and device.vendor.value == NVIDIA_VENDOR


def is_gpu(device: PciDevice) -> bool:
    """Return whether a function on the bus is a GPU that the driver should have."""
    if not is_gpu_function(device) or device.is_virtual_function.value:
        return False
    return device.driver.or_else(_DRIVER) == _DRIVER


def median(numbers: list[float]) -> float:
    """Return the middle one, or the mean of the two."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
