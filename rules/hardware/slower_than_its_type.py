"""A GPU whose highest clocks or default power are below those of its type.

Why it hurts: a board with firmware of another bin or of a power-saving edition never
reaches the speed that the job was planned for. Where all GPUs of a node are alike, no
comparison among them shows it.

What passes: highest clocks of SM and memory and default power as such a GPU shows.

Where it does not apply: nowhere; numbers that the catalogue does not have, or of which
its sources disagree, are unknown.

Source: nvidia-smi -q captures in NVIDIA/k8s-test-infra and NVIDIA/aicr; NVIDIA/DCGM
error 72.

Bad::

    nvidia-smi -q -d CLOCK   # Max Clocks, SM: 1755 MHz on an H100 SXM

Good::

    nvidia-smi -q -d CLOCK   # Max Clocks, SM: 1980 MHz
"""

from speccheck.rules.hardware._leaves import supported
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The least share of what the type has."""

    least_share: float


@rule(clause="HW-087")
def slower_than_its_type(gpu: Gpu, profiles: GpuProfiles, limit: Share) -> Verdicts:
    """Judge each number of which the catalogue is sure."""
    profile = profiles.of(gpu)
    pairs = (
        (
            gpu.sm_clock_maximum_mhz,
            profile.sm_clock_maximum_mhz,
            "highest SM clock",
            "MHz",
        ),
        (
            gpu.memory_clock_maximum_mhz,
            profile.memory_clock_maximum_mhz,
            "highest memory clock",
            "MHz",
        ),
        (
            gpu.power_limit_default_watts,
            profile.power_limit_default_watts,
            "default power limit",
            "W",
        ),
    )
    is_slow = False
    for leaf, usual, what, unit in pairs:
        if usual.status not in {"stated", "derived"} or not leaf.is_known:
            continue
        found, wanted = leaf.need(), usual.need()
        if found < wanted * limit.least_share:
            is_slow = True
            yield fail(
                f"the {what} is {found:,.0f} {unit}; a GPU of this type has "
                f"{wanted:,.0f} {unit}",
                at=leaf,
                measured=found,
                required=wanted,
                cost="each step takes longer than planned",
                remedy="Compare VBIOS and part number with a node that is well "
                "(nvidia-smi -q -i N); ask the vendor for the firmware of the type.",
                action="FIX_CONFIG",
            )
    if is_slow:
        return
    known = [pair for pair in pairs if supported(pair[0])]
    for leaf, usual, _, _ in known:
        if leaf.need() < usual.need():
            usual.need_stated()
    if known:
        yield passed(at=[leaf for leaf, _, _, _ in known])
