"""An interface of a training port that loses its carrier again and again.

Why it hurts: each loss costs a retransmission or a job; a cable that flaps is about to
fail for good.

What passes: fewer losses a day, as a mean since the start, than the clause allows.

Where it does not apply: nodes without training ports; EFA and ports without an
interface. Interfaces change their carrier some times while a machine starts: on the
first day the losses of that day count as a whole.

Source: Azure/azurehpc-health-checks, azure_ib_link_flapping.

Bad::

    cat /sys/class/net/ib3/carrier_changes    # 214, after two days

Good::

    cat /sys/class/net/ib3/carrier_changes    # 4
"""

from datetime import timedelta

from speccheck.rules.fabric._rails import EFA, rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.rdma import NetworkInterfaces, RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_CHANGES_A_LOSS = 2  # down, and up again
_DAY = timedelta(days=1).total_seconds()


class Losses(Numbers):
    """The highest mean number of carrier losses a day."""

    losses_per_day: float


@rule(clause="FAB-035")
def link_comes_and_goes(
    ports: RdmaPorts,
    interfaces: NetworkInterfaces,
    host: Host,
    cluster: Cluster,
    environment: Environment,
    limit: Losses,
) -> Verdicts:
    """Judge the interface of each training port."""
    named = {
        network_interface.name.value: network_interface
        for network_interface in interfaces.shown
    }
    for port in rails(ports, cluster, environment):
        own = port.network_interface
        if port.link_layer.need() == EFA or own.status == "absent":
            continue
        interface = named.get(own.need())
        if interface is None:
            interfaces.each()
            reason = f"{own.value} is not among the interfaces in sight"
            raise MissingEvidence(interfaces.count.name, reason)
        changes = interface.carrier_changes
        losses = changes.need() / _CHANGES_A_LOSS
        mean = losses  # in a day at least
        if mean > limit.losses_per_day:
            mean = losses / max(host.uptime_seconds.need() / _DAY, 1)
        if mean <= limit.losses_per_day:
            yield passed(at=changes, measured=mean, required=limit.losses_per_day)
            continue
        yield fail(
            f"{port.title}: {interface.title} changed its carrier {changes.value:,} "
            f"times, about {mean:,.3g} losses a day since the start; at most "
            f"{limit.losses_per_day:g} should it be",
            at=changes,
            measured=mean,
            required=limit.losses_per_day,
            cost="each loss stalls or ends the job",
            remedy="Clean or replace the cable and look at the switch port (mlxlink -d "
            f"{port.device.or_else('DEVICE')} -c).",
            action="ISOLATE",
        )
