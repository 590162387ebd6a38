"""A GPU whose NVLinks are set to a reduced bandwidth.

Why it hurts: each collective runs over the links that are left. The mode saves power,
and stays set from an earlier user of the node.

What passes: the full mode.

Where it does not apply: GPUs without such a mode, before NVLink 5.

Source: nvml.h, nvmlDeviceGetNvlinkBwMode; open-gpu-kernel-modules for the numbers.

Bad::

    nvidia-smi nvlink -i 0 -gBwMode   # 4 links

Good::

    nvidia-smi nvlink -i 0 -gBwMode   # FULL
"""

from speccheck.rules.hardware._links import counts_as_before, has_no_links
from speccheck.validator.evidence.node.fault_codes import reduced_bandwidth
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-109")
def nvlink_bandwidth_reduced(gpu: Gpu, profiles: GpuProfiles) -> Verdicts:
    """Judge the mode of the GPU."""
    mode = gpu.nvlink_bandwidth_mode
    is_of_none = not mode.is_known and has_no_links(gpu, profiles)
    if is_of_none or counts_as_before(gpu, mode, profiles):
        return
    if mode.status == "not_supported":
        return
    code = mode.need()
    if code == 0:
        yield passed(at=mode, measured="full", required="full")
        return
    reduced = reduced_bandwidth(code)
    if reduced is None:
        raise MissingEvidence(mode.name, f"mode {code} is not known")
    yield fail(
        f"the bandwidth of its NVLinks is reduced: {reduced}; it should be full",
        at=mode,
        measured=reduced,
        required="full",
        cost="each collective of the node waits for this GPU",
        remedy="Set the full mode on the idle node, as root: nvidia-smi nvlink -h "
        "names the option of your driver for the bandwidth mode of a device.",
        action="FIX_CONFIG",
    )
