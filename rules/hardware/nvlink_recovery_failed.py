"""An NVLink 5 that could not be brought back.

Why it hurts: the link is lost for the job, and the route over it with it.

What passes: no failed recovery counted on any link.

Where it does not apply: NVLink before generation 5.

Source: an engineering default; field 214 of nvml.h.

Bad::

    nvidia-smi nvlink -e -i 1    # Link recovery failed events: 1

Good::

    nvidia-smi nvlink -e -i 1    # Link recovery failed events: 0
"""

from speccheck.rules.hardware._links import (
    counts_as_before,
    has_no_links,
    listed,
    need_all,
)
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Recoveries(Numbers):
    """The most failed recoveries of one link."""

    failed_recoveries_max: int


@rule(clause="HW-105")
def nvlink_recovery_failed(
    gpu: Gpu, profiles: GpuProfiles, limit: Recoveries
) -> Verdicts:
    """Judge the count of each link, of those that are down too."""
    counts, most = gpu.nvlink_failed_recoveries, limit.failed_recoveries_max
    result = dict(enumerate(counts.or_else(())))
    over = {link: count for link, count in result.items() if count and count > most}
    if over:
        total = sum(over.values())
        yield fail(
            f"{listed(over)}: {total:,} recoveries failed since the driver was loaded; "
            f"at most {most} may have",
            at=counts,
            measured=total,
            required=most,
            cost="the route over the link is lost",
            remedy="Drain the node; reset its GPUs (nvidia-smi --gpu-reset), and "
            "replace the tray or the cable cartridge if it recurs.",
            action="ISOLATE",
        )
        return
    if counts.status == "not_supported" or has_no_links(gpu, profiles):
        return
    if counts_as_before(gpu, counts, profiles):
        return
    need_all(gpu, counts)
    yield passed(at=counts, measured=0, required=most)
