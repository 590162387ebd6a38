"""What the PCIe link of a GPU should be, and who says so."""

from speccheck.rules.topology._links import by_address, port_above
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.evidence.node.profile import (
    GpuProfile,
    InstanceProfile,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value

_SOLDERED = "sxm"  # all lanes of such a socket are wired


class Expected(Record):
    """The least that a link should do.

    by: who says so, before the number; or why nobody is sure.
    is_sure: whether what reaches it may pass.
    """

    least: int
    by: str
    is_sure: bool
    leaf: str


def expected_generation(
    gpu: Gpu, gpus: Gpus, profile: GpuProfile, machine: InstanceProfile
) -> Expected:
    """Return the best of its peers, of its board and of its machine type.

    Nothing better can be where the link does what the GPU can do by itself, or what the
    best slot gives it.
    """
    leaf = gpu.pcie_generation_maximum
    peers = _best(gpu, gpus, leaf)
    board, slot = profile.pcie_generation_maximum, machine.pcie_generation_maximum
    of_type = min(_stated(board), _stated(slot))
    if of_type > peers:
        least, by = of_type, f"a GPU of this type on {machine.id} has"
    else:
        least, by = peers, "its peers have"
    own = gpu.pcie_generation_maximum_of_gpu
    best = [item for item in (own.value, board.value) if item is not None]
    number = leaf.or_else(0)
    if number and ((best and number >= min(best)) or 0 < of_type <= number):
        return Expected(least, by, is_sure=True, leaf=leaf.name)
    reason = (
        by if number < least else f"nobody tells what the slot can do ({slot.note})"
    )
    return Expected(least, reason, is_sure=False, leaf=slot.name)


def expected_width(
    gpu: Gpu, gpus: Gpus, devices: PciDevices, host: Host, profile: GpuProfile
) -> Expected:
    """Return the widest of its peers, of its socket, and of its slot on bare metal."""
    leaf = gpu.pcie_width
    least, by = _best(gpu, gpus, leaf), "its peers have"
    if profile.form_factor.value == _SOLDERED:
        wired = _stated(profile.pcie_width_maximum)
        if wired > least:
            least, by = wired, "its socket has"
    slot = _slot(gpu, devices, host)
    most = gpu.pcie_width_maximum
    both = min(slot or 0, most.or_else(0))
    if both > least:
        least, by = both, "it and its slot have"
    number = leaf.or_else(0)
    enough = [item for item in (most.value, slot) if item]
    if number and number >= least and enough and number >= min(enough):
        return Expected(least, by, is_sure=True, leaf=leaf.name)
    reason = by if number < least else "nobody tells how many lanes the slot has"
    return Expected(least, reason, is_sure=False, leaf=most.name)


def _best(gpu: Gpu, gpus: Gpus, leaf: Value[int]) -> int:
    """Return the highest value of that leaf among the GPUs of the same model."""
    model, name = gpu.name.value, leaf.name.rpartition(".")[2]
    peers = [gpu for gpu in gpus.shown if model and gpu.name.value == model]
    result = [getattr(peer, name).or_else(0) for peer in peers]
    return max(result, default=0)


def _stated(leaf: Value[int]) -> int:
    """Return a number that a machine may be taken out of service by; 0 for none."""
    try:
        return leaf.need_stated()
    except MissingEvidence:
        return 0


def _slot(gpu: Gpu, devices: PciDevices, host: Host) -> int | None:
    """Return the lanes of the port above a GPU, on bare metal."""
    known = by_address(devices)
    device = known.get(gpu.pci_address.or_else(""))
    if device is None or host.virtualisation.value != "none":
        return None
    port = port_above(device, known)
    return port.width_maximum.value if port else None
