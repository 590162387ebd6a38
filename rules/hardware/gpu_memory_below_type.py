"""A GPU that shows less memory than its type has.

Why it hurts: the batch that fits on all other GPUs runs out of memory on this one. The
rest is held back for repairs, for another mode, or it is broken.

What passes: the memory that such a GPU shows, within the share of the clause.

Where it does not apply: a GPU with less than its peers, which gpus_differ judges; types
of GPU of which nobody knows it are unknown.

Source: nvidia-smi -q captures in NVIDIA/k8s-test-infra; microsoft/superbenchmark.

Bad::

    nvidia-smi --query-gpu=memory.total --format=csv   # 73728 MiB on an H100 of 80 GB

Good::

    nvidia-smi --query-gpu=memory.total --format=csv   # 81559 MiB
"""

from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The least share of the memory of the type."""

    memory_share: float


@rule(clause="HW-001")
def gpu_memory_below_type(
    gpu: Gpu, gpus: Gpus, profiles: GpuProfiles, limit: Share
) -> Verdicts:
    """Judge the total that the driver shows."""
    leaf, usual = gpu.memory_total_bytes, profiles.of(gpu).memory_total_bytes
    number, wanted = leaf.need(), usual.need()
    if gpu.pci_device_id.status != "not_supported":
        gpu.pci_device_id.need()  # it may speak against the name
    if number >= wanted * limit.memory_share:
        yield passed(at=leaf, measured=number, required=wanted)
        return
    if any(_is_larger(item, gpu) for item in gpus.shown):
        return  # gpus_differ tells of it
    usual.need_stated()
    yield fail(
        f"{gigabytes(number)} of memory; a GPU of this type shows {gigabytes(wanted)}",
        at=leaf,
        measured=number,
        required=wanted,
        cost="what fits on the other GPUs runs out of memory on this one",
        remedy="See nvidia-smi -i N -q -d MEMORY,ECC,ROW_REMAPPER; nvidia-smi -i N "
        "-mig 0, then reboot; replace the board if it stays smaller.",
        action="ISOLATE",
    )


def _is_larger(item: Gpu, gpu: Gpu) -> bool:
    """Return whether a GPU of the same name shows more memory."""
    total = gpu.memory_total_bytes.need()
    return (
        item.name.value == gpu.name.need()
        and item.memory_total_bytes.or_else(0) > total
    )
