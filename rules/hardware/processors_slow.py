"""Processors that run slowly although they have work.

Why it hurts: power or heat limits them; loaders and launches of kernels wait.

What passes: a mean clock above the clause's.

Where it does not apply: virtual machines; other processors than x86. Processors at rest
lower their clock: a slow one without load is unknown.

Source: facebookresearch/gcm, check of the processor frequency.

Bad::

    grep MHz /proc/cpuinfo      # 800 on all, under load

Good::

    grep MHz /proc/cpuinfo      # 2900
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Clock(Numbers):
    """The clock that is too low, and the load from which on it tells something."""

    clock_min_mhz: float
    busy_share: float


@rule(clause="HW-085")
def processors_slow(host: Host, limit: Clock) -> Verdicts:
    """Judge the mean clock of processors at work."""
    if host.architecture.need() != "x86_64" or host.virtualisation.need() != "none":
        return
    value = host.processor_mhz
    if value.need() > limit.clock_min_mhz:
        yield passed(at=value, measured=value.value, required=limit.clock_min_mhz)
        return
    if host.load_one_minute.need() < limit.busy_share * host.processors.need():
        yield unknown(
            f"processors run at {value.value:,.0f} MHz and have no work",
            missing=["a snapshot under load"],
            at=value,
        )
        return
    yield fail(
        f"processors at work run at {value.value:,.0f} MHz; more than "
        f"{limit.clock_min_mhz:,.0f} MHz should it be",
        at=value,
        measured=value.value,
        required=limit.clock_min_mhz,
        cost="loaders and launches of kernels wait",
        remedy="Look at the power profile in the firmware and at temperatures "
        "(ipmitool sdr).",
        action="MONITOR",
    )
