"""A copy that was measured faster than its link can be.

Why it hurts: both directions were added up, a unit was mistaken, or the clock was read
before the copy had ended. Whatever the number is compared with, the verdict is worth
nothing.

What passes: rates within what PCIe, NVLink or the memory of this type of GPU carries.
A copy within a GPU reads and writes each byte, so that its rate is at most half of the
memory bandwidth.

Where it does not apply: copies both ways at once, and the links of superchips to their
host.

Source: PCI-SIG data rates; the hardware catalogue.

Bad::

    host_to_device_memcpy_ce   # 110.8 GB/s on PCIe 5 with 16 lanes

Good::

    host_to_device_memcpy_ce   # 55.4 GB/s
"""

from speccheck.rules.hardware._copies import copies_of, direction_of, most_of, unseen
from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Most(Numbers):
    """The largest share of the link's rate that a measured copy can reach."""

    most_share: float


@rule(clause="HW-150")
def copy_beyond_link(
    test: CopyTest, cluster: Cluster, profiles: GpuProfiles, limit: Most
) -> Verdicts:
    """Hold the fastest copy of a test to its link."""
    if test.is_bidirectional.need():
        return
    most = most_of(direction_of(test), profiles.by_id(cluster.accelerator))
    if most is None:
        return
    copies = copies_of(test)
    if not any(copy_.bytes_per_second for copy_ in copies) and (
        missing := unseen(copies, test)
    ):
        raise missing
    fastest = max(copies, key=lambda copy_: copy_.bytes_per_second or 0)
    value, carried = fastest.gigabytes_per_second, most[0] / GIGA
    if value <= carried * limit.most_share:
        yield passed(at=test.bytes_per_second, measured=value, required=carried)
        return
    yield fail(
        f"{fastest.title} was measured at {value:,.1f} GB/s; {most[1]} carries "
        f"{carried:,.1f} GB/s",
        at=test.bytes_per_second,
        measured=value,
        required=carried,
        cost="no verdict on these copies is worth anything",
    )
