"""An NVLink that had to be recovered since the driver was loaded.

Why it hurts: a link that lost its training stalls the traffic of the node until it is
back, and is often down for good before long.

What passes: no recovery counted on any link that is up.

Where it does not apply: GPUs without a link that is up, and NVLink 5, which counts
otherwise.

Source: NVIDIA/DCGM error 71; facebookresearch/gcm.

Bad::

    nvidia-smi nvlink -e -i 3    # Link 9: Recovery Errors: 4

Good::

    nvidia-smi nvlink -e -i 3    # Link 9: Recovery Errors: 0
"""

from speccheck.rules.hardware._links import has_no_links, listed, need_all, seen
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Recoveries(Numbers):
    """The most recoveries of one link since the driver was loaded."""

    recoveries_max: int


@rule(clause="HW-104")
def nvlink_recovered(gpu: Gpu, profiles: GpuProfiles, limit: Recoveries) -> Verdicts:
    """Judge the count of each link."""
    counts = gpu.nvlink_recoveries
    if counts.status == "not_supported" or has_no_links(gpu, profiles):
        return
    result = seen(gpu, counts)
    over = [link for link, count in result.items() if count > limit.recoveries_max]
    if over:
        total = sum(result[link] for link in over)
        yield fail(
            f"{listed(over)}: recovered {total:,} times since the driver was loaded; "
            f"at most {limit.recoveries_max} is sound",
            at=counts,
            measured=total,
            required=limit.recoveries_max,
            remedy="Drain the node and reset its GPUs (nvidia-smi --gpu-reset), which "
            "sets the count to zero; replace the board if it counts again.",
            action="RESET_GPU",
        )
        return
    need_all(gpu, counts)
    yield passed(at=counts, measured=0, required=limit.recoveries_max)
