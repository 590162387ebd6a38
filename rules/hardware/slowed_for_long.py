"""A GPU that its hardware has slowed for a good part of the time.

Why it hurts: each collective of a job waits for the slowest GPU, and heat or a power
brake that come again slow the next job too.

What passes: slowdowns since the driver was loaded that are too short to make a run of
an hour exceed its share. More of it is undecided, as the time at work is not known,
until it exceeds the share of the whole time since the start.

Where it does not apply: drivers and GPUs that do not count these times. A software
power cap is no fault.

Source: nvml.h, fields 270 and 271; leptonai/gpud hw-slowdown.

Bad::

    nvidia-smi -q -d PERFORMANCE   # HW Thermal Slowdown: hours, in the counters

Good::

    nvidia-smi -q -d PERFORMANCE   # HW Thermal Slowdown: 0 us, in the counters
"""

from speccheck.rules.hardware._leaves import needed, supported
from speccheck.validator.evidence.node.fault_codes import seconds
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Share(Numbers):
    """How much of the time a slowdown may take."""

    throttle_share: float
    shortest_run_seconds: float


@rule(clause="ENER-003")
def slowed_for_long(gpu: Gpu, host: Host, limit: Share) -> Verdicts:
    """Judge the longer of both times against the time since the start."""
    heat, brake = gpu.thermal_slowdown_nanoseconds, gpu.power_brake_nanoseconds
    counted = supported(heat, brake)
    if not counted:
        return
    if any(value.or_else(0) < 0 for value in counted):
        raise MissingEvidence(counted[0].name, "a time below zero")
    longest = max(counted, key=lambda value: value.or_else(0))
    slowed = seconds(longest.or_else(0))
    if slowed <= limit.throttle_share * limit.shortest_run_seconds:
        at = [*needed(*counted)]
        yield passed(at=at, measured=slowed, required=limit.throttle_share)
        return
    why = "heat" if longest is heat else "the power brake"
    text = f"its hardware has slowed it for {slowed:,.0f} seconds because of {why}"
    up = host.uptime_seconds
    if slowed <= limit.throttle_share * up.need():
        yield unknown(
            f"{text}; for which part of the runs is not known",
            missing=["the time at work"],
            at=longest,
        )
        return
    share = slowed / max(up.need(), slowed)
    yield fail(
        f"{text}, {share:.1%} of the time since the start; at most "
        f"{limit.throttle_share:.0%} of run time is sound",
        at=[longest, up],
        measured=share,
        required=limit.throttle_share,
        cost="each collective waits for this GPU",
        action="MONITOR",
    )
