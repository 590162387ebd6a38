"""A window to GPU memory that is smaller than such a GPU has.

Why it hurts: adapters and peers reach GPU memory through that window (BAR1). GPUDirect
cannot map what does not fit, and falls back to copies through the host.

What passes: a window as large as such a GPU shows on a host that is set up for it.

Where it does not apply: GPUs that share their memory with the processor and have no
such window; types of which nobody knows it are unknown.

Source: nvidia-smi -q captures in NVIDIA/k8s-test-infra; ROCm/ROCmValidationSuite.

Bad::

    nvidia-smi -q -d MEMORY   # BAR1 Memory Usage, Total: 256 MiB on an H100

Good::

    nvidia-smi -q -d MEMORY   # BAR1 Memory Usage, Total: 131072 MiB
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The least share of the window of the type."""

    window_share: float


@rule(clause="HW-089")
def bar1_too_small(gpu: Gpu, profiles: GpuProfiles, limit: Share) -> Verdicts:
    """Judge the window against that of the type."""
    leaf = gpu.bar1_total_bytes
    if leaf.status == "not_supported":
        return
    number, wanted = leaf.need(), profiles.of(gpu).bar1_total_bytes.need_stated()
    if number >= wanted * limit.window_share:
        yield passed(at=leaf, measured=number, required=wanted)
        return
    yield fail(
        f"the window to GPU memory (BAR1) has {gigabytes(number)}; a GPU of this type "
        f"has {gigabytes(wanted)}",
        at=leaf,
        measured=number,
        required=wanted,
        cost="GPUDirect maps only a part of the memory, and goes through the host",
        remedy="Switch Above 4G Decoding and Resizable BAR on in the firmware, take "
        "pci=nocrs or pci=realloc=off from the kernel command line, power cycle.",
        action="FIX_CONFIG",
    )
