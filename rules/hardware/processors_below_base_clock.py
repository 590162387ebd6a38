"""Processors that run below their base clock although they have work.

Why it hurts: power or heat limits them; loaders and launches of kernels wait.

What passes: a mean clock of at least the clause's share of the base clock, weighed with
the load, as processors at rest may lower theirs.

Where it does not apply: virtual machines; other processors than x86. A low clock
without load is unknown, and so is one whose base clock the kernel does not show.

Source: Linux admin-guide/pm/intel_pstate.rst (base_frequency) and
admin-guide/acpi/cppc_sysfs.rst (nominal_freq).

Bad::

    grep MHz /proc/cpuinfo      # 800 on all, under load, of 2000 at base

Good::

    grep MHz /proc/cpuinfo      # 2900
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class BaseClock(Numbers):
    """The share of the base clock, and the load from which on it tells something."""

    base_share: float
    busy_share: float


@rule(clause="HW-169")
def processors_below_base_clock(host: Host, limit: BaseClock) -> Verdicts:
    """Judge the mean clock of processors at work."""
    if host.architecture.need() != "x86_64" or host.virtualisation.need() != "none":
        return
    value, base = host.processor_mhz, host.processor_base_mhz
    clock, full = value.need(), limit.base_share * base.need()
    at = [value, base]
    if clock >= full:
        yield passed(at=at, measured=clock, required=full)
        return
    at_work = min(1.0, host.load_one_minute.need() / host.processors.need())
    if at_work < limit.busy_share:
        yield unknown(
            f"processors run at {clock:,.0f} MHz and have no work",
            missing=["a snapshot under load"],
            at=at,
        )
        return
    least = full * at_work
    if clock >= least:
        yield passed(at=at, measured=clock, required=least)
        return
    yield fail(
        f"processors at work run at {clock:,.0f} MHz; at least {least:,.0f} MHz are "
        f"expected: {at_work:.0%} of the processors are at work, at "
        f"{limit.base_share:.0%} of a base clock of {base.value:,.0f} MHz",
        at=at,
        measured=clock,
        required=least,
        cost="loaders and launches of kernels wait",
        action="MONITOR",
    )
