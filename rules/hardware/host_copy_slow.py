"""A GPU that copies slowly from or to the memory of its host.

Why it hurts: checkpoints, input and offloaded states wait for this link. A link that
was trained down to fewer lanes or a lower generation shows nowhere else until then.

What passes: each GPU, each way, at the floor of its type. Rates of one copy at a time
by a copy engine count: those of kernels, of both ways or of all GPUs at once have
other limits.

Where it does not apply: other copies. Types of GPU without a published floor are
unknown, and so are copies below the floor in a machine whose slots are of an older
generation than the GPU, or of few bytes.

Source: Azure/azurehpc-health-checks, check_gpu_bw.

Bad::

    host_to_device_memcpy_ce   # 55.4  55.3  27.1  55.4 GB/s

Good::

    host_to_device_memcpy_ce   # 55.4  55.3  55.4  55.4 GB/s
"""

from speccheck.rules.hardware._copies import (
    HOST,
    WAYS,
    copies_of,
    direction_of,
    fast_enough,
    is_by_copy_engine,
    is_small,
    need_number,
    unseen,
)
from speccheck.validator.evidence.measurement.device import CopyTest
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.profile import (
    GpuProfile,
    GpuProfiles,
    InstanceProfile,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, rule


class Floor(Numbers):
    """The least rate of a copy between host and GPU, in GB/s.

    host_copy: None where the profile gives no rate.
    copy_min: the smallest copy that can fail, in bytes.
    """

    host_copy: float | None
    copy_min: int


@rule(clause="HW-005")
def host_copy_slow(
    test: CopyTest,
    cluster: Cluster,
    gpus: Gpus,
    profiles: GpuProfiles,
    instance: InstanceProfile,
    limit: Floor,
) -> Verdicts:
    """Judge each GPU of a test between GPUs and host."""
    direction = direction_of(test)
    if direction not in HOST or not is_by_copy_engine(test):
        return
    floor = need_number(limit.host_copy, "HW-005.host_copy", cluster)
    profile, copies = profiles.by_id(cluster.accelerator), copies_of(test)
    measured = [copy_ for copy_ in copies if copy_.bytes_per_second is not None]
    slow = [copy for copy in measured if copy.gigabytes_per_second < floor]
    if slow and is_small(test, limit.copy_min):
        raise MissingEvidence(test.size_bytes.name, "too few bytes to judge a link by")
    if slow and (why := _slot(profile, gpus, instance)):
        raise MissingEvidence(instance.pcie_generation_maximum.name, why)
    for copy in slow:
        yield fail(
            f"{copy.title} copies {copy.gigabytes_per_second:.1f} GB/s "
            f"{WAYS[direction]}; required {floor:g} GB/s for this type",
            at=test.bytes_per_second,
            measured=copy.gigabytes_per_second,
            required=floor,
            cost="checkpoints and input wait for this link",
            action="ISOLATE",
        )
    if not slow:
        yield fast_enough(test, copies, profile, floor)
    elif missing := unseen(copies, test):
        raise missing


def _slot(profile: GpuProfile, gpus: Gpus, instance: InstanceProfile) -> str:
    """Return why the link of this machine cannot reach the floor of the type."""
    own = profile.pcie_generation_maximum.value
    numbers = [instance.pcie_generation_maximum.value]
    numbers += [gpu.pcie_generation_maximum.value for gpu in gpus.shown]
    lesser = [
        number
        for number in numbers
        if number is not None and own is not None and number < own
    ]
    if not lesser:
        return ""
    return f"they are of generation {min(lesser)}, the floor is one of generation {own}"
