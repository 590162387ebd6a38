"""NVLinks of another generation than the GPU has.

Why it hurts: it may not by itself. It says that the GPU is not what its name tells, or
that links of one GPU were trained differently.

What passes: all links that are up have the generation of the profile. The library
writes it as a code (6 for NVLink 4); stand-ins of it write the generation itself.

Where it does not apply: GPUs without a link that is up.

Source: nvml.h, nvmlNvlinkVersion_t; the hardware catalogue.

Bad::

    nvmlDeviceGetNvLinkVersion    # 4 (NVLink 3.0) on an H100

Good::

    nvmlDeviceGetNvLinkVersion    # 6 (NVLink 4.0) on an H100
"""

from speccheck.rules.hardware._links import (
    has_no_links,
    listed,
    need_all,
    need_type,
    seen,
)
from speccheck.validator.evidence.node.fault_codes import LINK_GENERATIONS
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-101")
def nvlink_of_other_generation(gpu: Gpu, profiles: GpuProfiles) -> Verdicts:
    """Compare each link that is up with the profile."""
    version = gpu.nvlink_version
    if version.status == "not_supported" or has_no_links(gpu, profiles):
        return
    result = seen(gpu, version)
    expected = profiles.of(gpu).nvlink_generation.need()
    other = {
        link: code
        for link, code in result.items()
        if expected not in {code, LINK_GENERATIONS.get(code)}
    }
    if other:
        codes = ", ".join(sorted({str(code) for code in other.values()}))
        yield fail(
            f"{listed(other)} tell version code {codes}; the GPU has NVLink {expected}",
            at=version,
            measured=codes,
            required=expected,
            action="MONITOR",
        )
        return
    need_type(gpu)
    need_all(gpu, version)
    yield passed(at=version, measured=expected, required=expected)
