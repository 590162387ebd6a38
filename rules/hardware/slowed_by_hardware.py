"""A GPU that is slowed because of heat or power.

Why it hurts: a GPU that is too hot at rest will be slowed for the whole of a run, and
with it each collective.

What passes: no slowdown by the hardware, nor by the driver for heat, among the reasons
for the clocks of now. An idle GPU and a software power cap are no faults; the power
brake has its own clause.

Where it does not apply: nowhere.

Source: nvml.h, clocks event reasons; Azure/azurehpc-health-checks.

Bad::

    nvidia-smi -q -d PERFORMANCE   # HW Thermal Slowdown: Active

Good::

    nvidia-smi -q -d PERFORMANCE   # Idle: Active
"""

from speccheck.validator.evidence.node.fault_codes import (
    HARDWARE_SLOWDOWN,
    POWER_BRAKE,
    SOFTWARE_THERMAL_SLOWDOWN,
    THERMAL_SLOWDOWN,
)
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-028")
def slowed_by_hardware(gpu: Gpu) -> Verdicts:
    """Judge the bits of a slowdown that is not the brake's."""
    reasons = gpu.clock_event_reasons
    bits = reasons.need()
    if bits & SOFTWARE_THERMAL_SLOWDOWN and not bits & THERMAL_SLOWDOWN:
        yield fail(
            f"the driver slows the GPU now because of heat (reasons {bits:#x})",
            at=reasons,
            cost="the whole job runs at the pace of this GPU",
            action="ISOLATE",
        )
        return
    if bits & POWER_BRAKE and not bits & THERMAL_SLOWDOWN:
        return
    if bits & (THERMAL_SLOWDOWN | HARDWARE_SLOWDOWN):
        why = "of heat" if bits & THERMAL_SLOWDOWN else "of heat or power"
        yield fail(
            f"the hardware slows the GPU now because {why} (reasons {bits:#x})",
            at=reasons,
            cost="the whole job runs at the pace of this GPU",
            action="ISOLATE",
        )
        return
    yield passed(at=reasons)
