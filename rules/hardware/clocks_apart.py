"""Nodes whose clocks do not agree with the rest.

Why it hurts: after a hang, who was first to stop answers why. Logs of nodes that
disagree cannot be put in order, and leases and tokens are refused. Two nodes may each
be within the limit of one node and still be apart.

What passes: clocks within the offset of the clause from the median of the fleet.

Where it does not apply: a fleet of one node; clocks that are beyond the offset by
themselves, which the rule on each node tells.

Source: kubernetes/node-problem-detector, NTP.

Bad::

    chronyc tracking    # 80 ms fast on 63 nodes, 80 ms slow on one

Good::

    chronyc tracking    # below 0.2 ms on 64 nodes
"""

from statistics import median

from speccheck.validator.comparison.verdicts import counted
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_LEAF = "host.clock_offset_milliseconds"


class Offset(Numbers):
    """The largest distance of a clock from the fleet's median, in milliseconds."""

    offset_max: float


@rule(clause="HW-165")
def clocks_apart(fleet: Fleet, limit: Offset) -> Verdicts:
    """Compare the offsets that time services tell with their median."""
    if len(fleet.nodes) <= 1:
        return
    samples = fleet.samples.get(_LEAF)
    if samples is None or not samples.values:
        message = "no node tells how far its clock is off"
        yield unknown(message, missing=[_LEAF])
        return
    middle = median(samples.values)
    off = 0  # by themselves: each of them is told by itself
    far: dict[str, float] = {}
    for node, value in zip(samples.nodes, samples.values, strict=True):
        if abs(value) > limit.offset_max:
            off += 1
        elif abs(value - middle) > limit.offset_max:
            far[fleet.nodes[node].name] = value
    hosts = tuple(sorted(far))
    if hosts:
        most = max(far.values(), key=lambda value: abs(value - middle))
        yield fail(
            f"the clock is off by up to {most:,.0f} ms, the median of "
            f"{len(samples.values):,} nodes by {middle:,.3g} ms; at most "
            f"{limit.offset_max:g} ms should lie between",
            measured=most,
            required=limit.offset_max,
            cost="logs of nodes cannot be put in order",
            action="FIX_CONFIG",
            hosts=hosts,
        )
    if samples.unseen:
        message = f"{counted(samples.unseen)}: how far the clock is off is not known"
        yield unknown(message, missing=[_LEAF], hosts=samples.unseen)
    if not hosts and not off and not samples.unseen:
        yield passed(f"{len(samples.values):,} clocks agree")
