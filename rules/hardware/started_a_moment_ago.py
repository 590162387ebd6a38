"""A machine that was started a moment ago.

Why it hurts: links, subnet manager and fabric manager may still settle; and a node that
starts again and again is sick.

What passes: it has run for the time of the clause.

Where it does not apply: nowhere.

Source: facebookresearch/gcm, check of the uptime.

Bad::

    uptime      # up 2 min

Good::

    uptime      # up 12 days
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Least(Numbers):
    """How long it should have run, in seconds."""

    uptime_min: float


@rule(clause="HW-078")
def started_a_moment_ago(host: Host, limit: Least) -> Verdicts:
    """Judge the time since the start."""
    value = host.uptime_seconds
    if value.need() >= limit.uptime_min:
        yield passed(at=value, measured=value.value, required=limit.uptime_min)
        return
    yield fail(
        f"the machine was started {value.value:.0f} s ago; at least "
        f"{limit.uptime_min:.0f} s leave links and services time",
        at=value,
        measured=value.value,
        required=limit.uptime_min,
        remedy="Wait, take the snapshot again, and see with last -x reboot how often "
        "it starts.",
        action="MONITOR",
    )
