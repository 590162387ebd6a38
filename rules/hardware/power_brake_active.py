"""A GPU that the power brake of the chassis slows.

Why it hurts: the chassis pulls the brake when a supply fails or the power budget is
exceeded. The GPU runs at a fraction of its clocks until the cause is gone, and each
collective of the job waits for it.

What passes: the brake is not among the reasons for the clocks of now.

Where it does not apply: nowhere.

Source: nvml.h, nvmlClocksThrottleReasonHwPowerBrakeSlowdown; leptonai/gpud hw-slowdown.

Bad::

    nvidia-smi -q -d PERFORMANCE   # HW Power Brake Slowdown: Active

Good::

    nvidia-smi -q -d PERFORMANCE   # HW Power Brake Slowdown: Not Active
"""

from speccheck.validator.evidence.node.fault_codes import POWER_BRAKE
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-027")
def power_brake_active(gpu: Gpu) -> Verdicts:
    """Judge the bit of the brake."""
    reasons = gpu.clock_event_reasons
    if reasons.need() & POWER_BRAKE:
        yield fail(
            f"the power brake slows the GPU now (reasons {reasons.value:#x})",
            at=reasons,
            cost="the whole job runs at the pace of this GPU",
            action="ISOLATE",
        )
        return
    yield passed(at=reasons)
