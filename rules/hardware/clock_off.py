"""A node whose clock is not kept right.

Why it hurts: logs of nodes cannot be put in order, and tokens and leases are refused.

What passes: a time service keeps the clock, within the clause's offset.

Where it does not apply: nowhere. In a container the state of the host's clock counts.

Source: kubernetes/node-problem-detector, NTP; Linux adjtimex(2).

Bad::

    chronyc tracking    # Leap status: Not synchronised

Good::

    chronyc tracking    # System time: 0.000013 seconds fast of NTP time
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_REMEDY = "systemctl enable --now chronyd, and see chronyc tracking."
_COST = "logs of nodes cannot be put in order"


class Offset(Numbers):
    """The largest offset of a node's clock, in milliseconds."""

    offset_max: float


@rule(clause="HW-080")
def clock_off(host: Host, limit: Offset) -> Verdicts:
    """Judge synchronisation, then the offset."""
    kept, offset = host.clock_is_synchronised, host.clock_offset_milliseconds
    if not kept.need():
        yield fail(
            "no time service keeps the clock",
            at=kept,
            measured="not synchronised",
            required="synchronised",
            cost=_COST,
            remedy=_REMEDY,
            action="FIX_CONFIG",
        )
        return
    if abs(offset.need()) <= limit.offset_max:
        yield passed(at=[kept, offset], measured=offset.value)
        return
    yield fail(
        f"the clock is off by up to {abs(offset.need()):,.3g} ms; at most "
        f"{limit.offset_max:g} ms should it be",
        at=offset,
        measured=offset.value,
        required=limit.offset_max,
        cost=_COST,
        remedy=_REMEDY,
        action="FIX_CONFIG",
    )
