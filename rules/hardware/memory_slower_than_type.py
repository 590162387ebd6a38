"""A GPU whose memory is slower than that of its type.

Why it hurts: every operation that is no matrix product runs at the speed of the memory.
Clocks that were lowered, heat and faults of the memory slow it, and no number that is
read at rest shows it.

What passes: a copy within the GPU that moves the share of the clause; each byte is read
and written, and counts twice.

Where it does not apply: other copies. Types of which nobody has published a measurement
are unknown, and so are copies that a cache can hold.

Source: NVIDIA/DCGM, diag-skus; Azure/AI-benchmarking-guide for healthy numbers.

Bad::

    device_local_copy   # 700 GB/s on an H100: 1,400 GB/s of 3,350

Good::

    device_local_copy   # 1,519 GB/s: 3,038 GB/s of 3,350
"""

from speccheck.rules.hardware._copies import (
    LOCAL,
    copies_of,
    direction_of,
    is_beyond,
    is_one_way,
    is_small,
    need_number,
    unseen,
)
from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The least share of the memory bandwidth; bytes that a copy must have."""

    memory_share: float | None
    copy_min: int


@rule(clause="HW-151")
def memory_slower_than_type(
    test: CopyTest, cluster: Cluster, profiles: GpuProfiles, limit: Share
) -> Verdicts:
    """Judge each GPU of a test of copies within GPUs."""
    if direction_of(test) != LOCAL or not is_one_way(test):
        return
    share = need_number(limit.memory_share, "HW-151.memory_share", cluster)
    if is_small(test, limit.copy_min):
        raise MissingEvidence(test.size_bytes.name, "a cache can hold so few bytes")
    profile, copies = profiles.by_id(cluster.accelerator), copies_of(test)
    peak = profile.memory_gigabytes_per_second.need()
    least = share * peak
    moved = [
        (copy_, 2 * copy_.gigabytes_per_second)
        for copy_ in copies
        if copy_.bytes_per_second
    ]
    slow = [(copy, rate) for copy, rate in moved if rate < least]
    if slow:
        profile.memory_gigabytes_per_second.need_stated()
    for copy, rate in slow:
        yield fail(
            f"{copy.title} copies {copy.gigabytes_per_second:,.0f} GB/s within its "
            f"memory, which moves {rate:,.0f} GB/s, {rate / peak:.0%} of {peak:,.0f} "
            f"GB/s; required {share:.0%}, {least:,.0f} GB/s",
            at=test.bytes_per_second,
            measured=rate,
            required=least,
            cost="all that is no matrix product waits for the memory",
            action="ISOLATE",
        )
    if missing := unseen(copies, test):
        raise missing
    if not slow and is_beyond(copies, LOCAL, profile):
        raise MissingEvidence(
            test.bytes_per_second.name, "faster than the memory can be"
        )
    if not slow:
        lowest = min(rate for _, rate in moved)
        yield passed(at=test.bytes_per_second, measured=lowest, required=least)
