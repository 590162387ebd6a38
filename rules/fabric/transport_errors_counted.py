"""A port that has sent packets again, dropped some, or seen them out of order.

Why it hurts: it need not. Packets that are lost in the fabric are sent again after a
time-out, and each of these stalls a collective; where packets take several paths, some
come out of order without a loss.

What passes: none was counted since the adapter was reset.

Where it does not apply: ports without these counters. Time-outs that come, as a mean
since the start, more often than the clause allows are sure; whether smaller numbers
still grow takes a second look: unknown.

Source: NVIDIA/NVSentinel, monitor of network adapters.

Bad::

    local_ack_timeout_err 9120, then 9480      # grows while a job runs

Good::

    local_ack_timeout_err 0
"""

from datetime import timedelta

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.rdma import RdmaPort
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_ABSENT = ("absent", "not_supported")
_HOUR = timedelta(hours=1).total_seconds()


class Rate(Numbers):
    """The highest mean rate of acknowledgement time-outs, per hour."""

    timeouts_per_hour: float


@rule(clause="FAB-036")
def transport_errors_counted(port: RdmaPort, host: Host, limit: Rate) -> Verdicts:
    """Judge the counters of the transport that the port has."""
    counters = [
        value
        for value in (
            port.acknowledgement_timeouts,
            port.packet_sequence_errors,
            port.out_of_sequence,
            port.slow_restarts,
            port.transmit_discards,
        )
        if value.status not in _ABSENT
    ]
    if not counters:
        return
    counted = [counter for counter in counters if counter.or_else(0)]
    if not counted:
        for counter in counters:
            counter.need()
        yield passed(at=counters, measured=0)
        return
    late, hours = port.acknowledgement_timeouts, host.uptime_seconds.or_else(0) / _HOUR
    mean = late.or_else(0) / max(hours, 1)
    if host.uptime_seconds.is_known and mean > limit.timeouts_per_hour:
        yield fail(
            f"{port.title} counts {late.value:,} acknowledgement timeouts, {mean:,.4g} "
            "an hour since the machine was started; at most "
            f"{limit.timeouts_per_hour:,.4g} should it be",
            at=late,
            measured=mean,
            required=limit.timeouts_per_hour,
            cost="each of them stalls a collective",
            remedy="Look for drops on the switch port and at PFC and ECN (mlnx_qos -i "
            f"{port.network_interface.or_else('INTERFACE')}), then at the peer node.",
            action="MONITOR",
        )
        return
    texts = ", ".join(
        f"{value.name.rpartition('.')[2].replace('_', ' ')} {value.value:,}"
        for value in counted
    )
    yield unknown(
        f"{texts} since the adapter was reset: whether they grow takes a second "
        "snapshot",
        missing=["a later snapshot"],
        at=counted,
    )
