"""A GPU whose highest clocks or default power are below those of its type.

Why it hurts: a board with firmware of another bin or of a power-saving edition never
reaches the speed that the job was planned for. Where all GPUs of a node are alike, no
comparison among them shows it.

What passes: highest clocks of SM and memory and default power as such a GPU shows.

Where it does not apply: a clock that other GPUs of the node exceed, of which
maximum_clocks_differ tells; numbers that the catalogue does not have, or of which
its sources disagree, are unknown.

Source: nvidia-smi -q captures in NVIDIA/k8s-test-infra and NVIDIA/aicr; NVIDIA/DCGM
error 72.

Bad::

    nvidia-smi -q -d CLOCK   # Max Clocks, SM: 1755 MHz on an H100 SXM

Good::

    nvidia-smi -q -d CLOCK   # Max Clocks, SM: 1980 MHz
"""

from speccheck.rules.hardware._leaves import supported
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The least share of what the type has."""

    least_share: float


_JUDGED = (
    ("sm_clock_maximum_mhz", "highest SM clock", "MHz"),
    ("memory_clock_maximum_mhz", "highest memory clock", "MHz"),
    ("power_limit_default_watts", "default power limit", "W"),
)
# Where a peer reaches more, maximum_clocks_differ tells of it.
_AMONG_PEERS = {"sm_clock_maximum_mhz", "memory_clock_maximum_mhz"}


@rule(clause="HW-087")
def slower_than_its_type(
    gpu: Gpu, gpus: Gpus, profiles: GpuProfiles, limit: Share
) -> Verdicts:
    """Judge each number of which the catalogue is sure."""
    profile = profiles.of(gpu)
    is_slow = False
    for field, what, unit in _JUDGED:
        leaf, usual = getattr(gpu, field), getattr(profile, field)
        if usual.status not in {"stated", "derived"} or not leaf.is_known:
            continue
        result, wanted = leaf.need(), usual.need()
        if result >= wanted * limit.least_share:
            continue
        is_slow = True
        if field in _AMONG_PEERS and _is_exceeded(gpu, gpus, field):
            continue
        yield fail(
            f"the {what} is {result:,.0f} {unit}; a GPU of this type has "
            f"{wanted:,.0f} {unit}",
            at=leaf,
            measured=result,
            required=wanted,
            cost="each step takes longer than planned",
            remedy="Compare VBIOS and part number with a node that is well "
            "(nvidia-smi -q -i N); ask the vendor for the firmware of the type.",
            action="FIX_CONFIG",
        )
    if is_slow:
        return
    known = [field for field, _, _ in _JUDGED if supported(getattr(gpu, field))]
    for field in known:
        usual = getattr(profile, field)
        if getattr(gpu, field).need() < usual.need():
            usual.need_stated()
    if known:
        yield passed(at=[getattr(gpu, field) for field in known])


def _is_exceeded(gpu: Gpu, gpus: Gpus, field: str) -> bool:
    """Return whether a GPU of the same name reaches more."""
    result = getattr(gpu, field).need()
    return any(
        item.name.value == gpu.name.value and getattr(item, field).or_else(0) > result
        for item in gpus.shown
    )
