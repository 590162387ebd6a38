"""An NVLink that runs below the speed of its generation.

Why it hurts: traffic is spread evenly over the links, so that one slow link slows all
of them.

What passes: each link that is up has the speed of the profile, but for the share by
which sources of one speed differ. Without a read profile, links are held to the fastest
of the GPUs of the same name: then slower ones fail, and equal ones pass.

Where it does not apply: GPUs without a link that is up.

Source: the hardware catalogue; stas00/ml-engineering, network (nvidia-smi nvlink -s).

Bad::

    nvidia-smi nvlink -s    # Link 4: 13.281 GB/s on an H100

Good::

    nvidia-smi nvlink -s    # Link 4: 26.562 GB/s on an H100
"""

from speccheck.rules.hardware._links import (
    has_no_links,
    listed,
    need_all,
    need_type,
    seen,
)
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Speed(Numbers):
    """The least share of the speed."""

    speed_share_min: float


@rule(clause="HW-102")
def nvlink_slow(gpu: Gpu, gpus: Gpus, profiles: GpuProfiles, limit: Speed) -> Verdicts:
    """Hold each link that is up to the profile, else to the fastest link."""
    speed, profile = gpu.nvlink_speed_mbyte_per_second, profiles.of(gpu)
    if speed.status == "not_supported" or has_no_links(gpu, profiles):
        return
    expected = profile.nvlink_speed_mbyte_per_second
    # The library says 0 of a link whose speed it does not know.
    result = {link: number for link, number in seen(gpu, speed).items() if number}
    is_read = expected.status in {"stated", "derived"}
    required = expected.need() if is_read else _fastest(gpu, gpus)
    least = required * limit.speed_share_min
    slow = {link: number for link, number in result.items() if number < least}
    if slow:
        slowest = min(slow.values())
        yield fail(
            f"{listed(slow)} down to {slowest:,} MB/s; required {required:,} MB/s, "
            f"at least {limit.speed_share_min:.0%} of it",
            at=speed,
            measured=slowest,
            required=required,
            cost="traffic is spread evenly, and all links wait for the slow one",
            remedy="Drain the node and reset all its GPUs: nvidia-smi --gpu-reset. "
            "Replace the board if the link stays slow.",
            action="ISOLATE",
        )
        return
    need_type(gpu)
    slowest = min(need_all(gpu, speed).values())
    if not slowest:
        raise MissingEvidence(speed.name, "the library does not know a speed")
    # Where no profile has it, the GPUs of a known type are held to each other.
    is_by_peers = profile.id and not expected.is_known and gpus.count.need() > 1
    if not is_by_peers and slowest < expected.need() * limit.speed_share_min:
        expected.need_stated()
    yield passed(at=speed, measured=slowest, required=expected.or_else(required))


def _fastest(gpu: Gpu, gpus: Gpus) -> int:
    """Return the fastest of all links of the GPUs of that name."""
    speeds = (
        seen(item, item.nvlink_speed_mbyte_per_second).values()
        for item in gpus.shown
        if item.name.value == gpu.name.value
    )
    return max((number for of_one in speeds for number in of_one), default=0)
