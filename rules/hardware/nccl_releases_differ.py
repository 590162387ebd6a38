"""Several releases of NCCL on one node.

Why it hurts: it may not. Which one a program loads depends on how it was built and on
LD_LIBRARY_PATH; where nodes or programs choose differently, the job hangs at its start.

What passes: one release.

Where it does not apply: nodes on which no release is told.

Source: NVIDIA/nccl issue 1676; GoogleCloudPlatform/cluster-health-scanner.

Bad::

    libnccl.so.2.18.5 in /usr/lib, nvidia_nccl_cu12-2.21.5 of torch

Good::

    libnccl.so.2.21.5 in both
"""

from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-134")
def nccl_releases_differ(driver: Driver) -> Verdicts:
    """Count the releases that are installed."""
    value = driver.nccl_versions
    releases = sorted({text for text in value.need() if text})
    if not releases:
        return
    if len(releases) == 1:
        yield passed(at=value, measured=releases[0])
        return
    yield fail(
        f"{len(releases)} releases of NCCL: {', '.join(releases)}; which is loaded, "
        "each program decides",
        at=value,
        measured=len(releases),
        required=1,
        remedy="See which one the job loads (NCCL_DEBUG=VERSION), and remove the "
        "others from LD_LIBRARY_PATH and the image.",
        action="FIX_CONFIG",
    )
