"""A number of GPUs that no board with sockets carries.

Why it hurts: seven GPUs of a board of eight are usually one that fell off the bus; a
job that counts on eight does not start, and one that takes what it finds has uneven
groups.

What passes: the counts that such boards are built with, and halves that guests get.

Where it does not apply: GPUs on cards, and containers, which may be given any part.

Source: data sheets of HGX and DGX boards.

Bad::

    nvidia-smi -L | wc -l    # 7, all of them H100 80GB HBM3

Good::

    nvidia-smi -L | wc -l    # 8
"""

from speccheck.rules.hardware._leaves import is_gpu
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Host, PciDevices
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_SOCKETED = "sxm"


class Counts(Numbers):
    """The numbers of GPUs that boards with sockets have."""

    counts: tuple[str, ...]


@rule(clause="HW-171")
def gpu_count_odd(
    gpus: Gpus, bus: PciDevices, host: Host, profiles: GpuProfiles, limit: Counts
) -> Verdicts:
    """Judge the count of GPUs in sockets."""
    listed = gpus.each()
    if not listed or host.container.or_else("none") != "none":
        return
    if any(profiles.of(gpu).form_factor.value != _SOCKETED for gpu in listed):
        return
    # One that the driver alone lacks is judged by the bus.
    count = max(len(listed), sum(map(is_gpu, bus.shown)))
    if str(count) in limit.counts:
        yield passed(at=gpus.count, measured=count)
        return
    allowed = ", ".join(limit.counts)
    yield fail(
        f"{count} GPUs are here; boards with sockets carry {allowed}",
        at=gpus.count,
        measured=count,
        cost="a job that counts on the whole board does not start",
        action="ISOLATE",
    )
