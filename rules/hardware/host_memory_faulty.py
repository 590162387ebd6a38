"""Host memory or a processor that reported an uncorrectable error.

Why it hurts: the next one ends a process, or gives wrong data to a checkpoint.

What passes: the memory controllers count none, since the machine was started.

Where it does not apply: virtual machines and machines without such counters.

Source: Linux Documentation/driver-api/edac.rst; mej/nhc, check of machine checks.

Bad::

    cat /sys/devices/system/edac/mc/mc*/ue_count    # 0 2

Good::

    cat /sys/devices/system/edac/mc/mc*/ue_count    # 0 0
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Errors(Numbers):
    """The most uncorrectable errors of host memory or processors."""

    errors_max: int


@rule(clause="HW-075")
def host_memory_faulty(host: Host, limit: Errors) -> Verdicts:
    """Judge the counters of the memory controllers."""
    value = host.memory_errors_uncorrected
    if value.status == "absent":
        return
    if value.need() <= limit.errors_max:
        yield passed(at=value, measured=value.value, required=limit.errors_max)
        return
    yield fail(
        f"{value.value:,} uncorrectable errors of host memory since the start; at most "
        f"{limit.errors_max} may be",
        at=value,
        measured=value.value,
        required=limit.errors_max,
        cost="processes end, or data are wrong without a sign of it",
        remedy="Find the module with edac-util -v or in the log of the BMC; drain the "
        "node and replace it.",
        action="ISOLATE",
    )
