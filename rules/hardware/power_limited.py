"""A power limit below the default of the board.

Why it hurts: under load the GPU lowers its clocks to stay below the limit, and all
GPUs of the job wait for it.

What passes: a limit in force of about the default or more.

Where it does not apply: boards without power management.

Source: NVIDIA/DCGM error 72; nvmlDeviceGetEnforcedPowerLimit.

Bad::

    nvidia-smi -q -d POWER   # Current Power Limit: 500 W, Default: 700 W

Good::

    nvidia-smi -q -d POWER   # Current Power Limit: 700 W, Default: 700 W
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The least share of the default."""

    least_share: float


@rule(clause="HW-030")
def power_limited(gpu: Gpu, limit: Share) -> Verdicts:
    """Judge the limit in force against the default of the same board."""
    now, default = gpu.power_limit_watts, gpu.power_limit_default_watts
    if "not_supported" in {now.status, default.status}:
        return
    watts, usual = now.need(), default.need()
    if watts >= usual * limit.least_share:
        yield passed(at=[now, default], measured=watts, required=usual)
        return
    yield fail(
        f"the power limit is {watts:,.0f} W, {watts / usual:.0%} of the default of "
        f"{usual:,.0f} W",
        at=[now, default],
        measured=watts,
        required=usual,
        cost="clocks fall under load, and the job runs at the pace of this GPU",
        remedy=f"nvidia-smi -i N -pl {usual:.0f}; where the site caps power on "
        "purpose, cap all nodes of the job alike.",
        action="FIX_CONFIG",
    )
