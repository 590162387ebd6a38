"""A pair of GPUs that copies slowly to each other.

Why it hurts: every collective within the node runs over these links, at the speed of
the slowest. Links that are down or degraded show here, and a path over PCIe where
NVLink was meant.

What passes: each pair, each way, at the floor of its type. Rates of one copy at a time
by a copy engine count.

Where it does not apply: other copies, and GPUs that are not joined by NVLink. Types of
GPU without a published floor are unknown, and so are pairs without a result.

Source: Azure/azurehpc-health-checks, check_gpu_bw.

Bad::

    device_to_device_memcpy_read_ce   # GPU 2 to GPU 5: 198 GB/s, others 395

Good::

    device_to_device_memcpy_read_ce   # 395 GB/s for each pair
"""

from speccheck.rules.hardware._copies import (
    PEER,
    Copy,
    copies_of,
    direction_of,
    fast_enough,
    is_by_copy_engine,
    is_small,
    need_number,
    unseen,
)
from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, rule


class Floor(Numbers):
    """The least rate of a copy between two GPUs, in GB/s.

    peer_copy: None where the profile gives no rate.
    copy_min: the smallest copy that can fail, in bytes.
    """

    peer_copy: float | None
    copy_min: int


@rule(clause="HW-005")
def peer_copy_slow(
    test: CopyTest, cluster: Cluster, profiles: GpuProfiles, limit: Floor
) -> Verdicts:
    """Judge each pair of a test; what one GPU sends slowly is one finding."""
    direction = direction_of(test)
    if direction != PEER or not is_by_copy_engine(test):
        return
    profile, copies = profiles.by_id(cluster.accelerator), copies_of(test)
    if profile.has_nvlink.value is False:
        return
    floor = need_number(limit.peer_copy, "HW-005.peer_copy", cluster)
    measured = [copy_ for copy_ in copies if copy_.bytes_per_second is not None]
    slow = [copy for copy in measured if copy.gigabytes_per_second < floor]
    if slow and is_small(test, limit.copy_min):
        raise MissingEvidence(test.size_bytes.name, "too few bytes to judge a link by")
    for sender in dict.fromkeys(copy.source for copy in slow):
        its = [copy for copy in slow if copy.source == sender]
        slowest = min(copy.gigabytes_per_second for copy in its)
        yield fail(
            f"{_pairs(its)} at {slowest:.0f} GB/s; required {floor:g} GB/s for this "
            "type",
            at=test.bytes_per_second,
            measured=slowest,
            required=floor,
            cost="each collective of the node waits for the slowest pair",
            remedy="See nvidia-smi nvlink -s and nvidia-smi topo -p2p r for these "
            "GPUs, reset them when idle, and replace the board if the pair stays slow.",
            action="ISOLATE",
        )
    if not slow:
        yield fast_enough(test, copies, profile, floor)
    elif missing := unseen(copies, test):
        raise missing


def _pairs(slow: list[Copy]) -> str:
    targets = [str(copy.target) for copy in slow]
    if len(targets) == 1:
        return slow[0].title
    *first, last = targets
    return f"GPU {slow[0].source} to GPUs {', '.join(first)} and {last}: the slowest"
