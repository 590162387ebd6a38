"""A training port that lost its link lately.

Why it hurts: a link that comes and goes is up when it is looked at, and takes the job
down at the next loss.

What passes: no loss was counted since the adapter was reset; or none stands in the
kernel log within the clause's window.

Where it does not apply: a node without training ports; EFA. Losses that were counted
and are not in a log that can be read are unknown: ports count some while a machine
starts, and one look cannot tell when.

Source: Azure/azurehpc-health-checks, link flapping; leptonai/gpud (link_downed).

Bad::

    dmesg -T | grep 'Lost carrier'      # two hours ago

Good::

    dmesg -T | grep 'Lost carrier'      # while it started
"""

from datetime import timedelta

from speccheck.rules.fabric._rails import EFA, rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import (
    KernelEvent,
    KernelEvents,
    KernelLog,
)
from speccheck.validator.evidence.node.rdma import RdmaPort, RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_TOO_SHORT = "the log begins too late"


class Window(Numbers):
    """How many link losses are tolerated, and within which time.

    flap_window: hours before the last line of the log in which losses count.
    settling: time after boot in which links come up and losses do not count.
    """

    flaps_max: int
    flap_window: float
    settling: float


@rule(clause="FAB-007")
def link_lost(
    ports: RdmaPorts,
    events: KernelEvents,
    log: KernelLog,
    cluster: Cluster,
    environment: Environment,
    limit: Window,
) -> Verdicts:
    """Judge each training port by its counter and by the log."""
    for port in rails(ports, cluster, environment):
        if port.link_layer.need() == EFA:
            continue
        if port.link_downed.value == 0:
            yield passed(at=port.link_downed, measured=0, required=limit.flaps_max)
            continue
        since = log.last_seconds.need() - _seconds(limit.flap_window)
        losses = [
            kernel_event
            for kernel_event in events.each()
            if _is_of(kernel_event, port)
            and kernel_event.last_seconds.need() > max(since, limit.settling)
        ]
        if sum(loss.count.need() for loss in losses) <= limit.flaps_max:
            if log.first_seconds.need() > max(since, limit.settling):
                raise MissingEvidence(log.first_seconds.name, _TOO_SHORT)
            yield passed(at=[port.link_downed, log.last_seconds], measured=0)
            continue
        ago = log.last_seconds.need() - losses[-1].last_seconds.need()
        yield fail(
            f"{port.title} lost its link within {limit.flap_window:g} h, last "
            f"{timedelta(seconds=int(ago))} ago; {port.link_downed.or_else('some')} "
            "losses since the adapter was reset",
            at=[losses[-1].last_seconds, port.link_downed],
            measured=port.link_downed.value,
            required=limit.flaps_max,
            cost="the next loss ends the job",
            remedy=f"Reseat or replace cable and transceiver of {port.title}, then "
            "watch link_downed for a day.",
            action="ISOLATE",
        )


def _seconds(hours: float) -> float:
    return timedelta(hours=hours).total_seconds()


def _is_of(event: KernelEvent, port: RdmaPort) -> bool:
    names = {port.device.value, port.network_interface.value} - {None}
    return event.event.value == "link_down" and event.device.value in names
