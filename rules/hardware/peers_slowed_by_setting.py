"""Confidential computing, or a reduced bandwidth mode of NVLink.

Why it hurts: with confidential computing copies are encrypted and peer access is
limited; a reduced mode of NVLink takes lanes from each collective. Both stay set from
an earlier user of the node.

What passes: confidential computing off and NVLink at full bandwidth.

Where it does not apply: drivers and GPUs that have neither setting.

Source: nvml.h, nvmlSystemGetConfComputeState and nvmlSystemGetNvlinkBwMode.

Bad::

    nvidia-smi nvlink -gbwm   # HALF

Good::

    nvidia-smi nvlink -gbwm   # FULL
"""

from speccheck.rules.hardware._leaves import needed, supported
from speccheck.validator.evidence.node.fault_codes import BANDWIDTH_MODES
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-026")
def peers_slowed_by_setting(driver: Driver) -> Verdicts:
    """Judge both settings of the node."""
    confidential = driver.confidential_computing_is_on
    bandwidth = driver.nvlink_bandwidth_mode
    if confidential.value:
        yield fail(
            "confidential computing is on; it should be off unless it is wanted",
            at=confidential,
            measured="on",
            required="off",
            cost="copies are encrypted, and GPUs reach their peers more slowly or not",
            remedy="Switch it off in the firmware or with gpu-admin-tools; reboot.",
            action="FIX_CONFIG",
        )
    if bandwidth.or_else(0):
        mode = BANDWIDTH_MODES.get(bandwidth.need(), str(bandwidth.value))
        yield fail(
            f"the bandwidth mode of NVLink is {mode}; it should be full",
            at=bandwidth,
            measured=mode,
            required="full",
            remedy="nvidia-smi nvlink -sbwm FULL, as root on the idle node.",
            action="FIX_CONFIG",
        )
    at = confidential, bandwidth
    if supported(*at) and not confidential.value and not bandwidth.value:
        yield passed(at=list(needed(*at)))
