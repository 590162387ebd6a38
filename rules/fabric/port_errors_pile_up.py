"""A port that counts more errors than a sound cable gives.

Why it hurts: each error is a packet sent again, and comes before the loss of the link.

What passes: errors that, over all the time that the machine has run, stay below the
rates of the clause, and none of the kind of which a sound port has none.

Where it does not apply: counters that the port does not have. Counters run since the
adapter was reset, so that a mean above a limit is sure. Whether a small number still
grows takes a second look: unknown.

Source: NVIDIA/NVSentinel, monitor of network adapters; IBTA bit error target 1e-12.

Bad::

    perfquery: SymbolErrorCounter 48213      # ten days after the start

Good::

    perfquery: SymbolErrorCounter 0
"""

from datetime import timedelta

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.rdma import RdmaPort
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)

_UNITS = ("hours", "minutes", "seconds")
_SECONDS = {unit: timedelta(**{unit: 1}).total_seconds() for unit in _UNITS}


class Rates(Numbers):
    """The highest mean error rates of a port, one for each counter."""

    symbol_errors_per_hour: float
    recoveries_per_minute: float
    efa_drops_per_second: float
    efa_command_errors_per_minute: float


@rule(clause="FAB-024")
def port_errors_pile_up(port: RdmaPort, host: Host, limit: Rates) -> Verdicts:
    """Judge the means of counters, and counters that should stay at nought."""
    means = (
        (port.symbol_errors, limit.symbol_errors_per_hour, "hours"),
        (port.link_recoveries, limit.recoveries_per_minute, "minutes"),
        (port.efa_receive_drops, limit.efa_drops_per_second, "seconds"),
        (port.efa_command_errors, limit.efa_command_errors_per_minute, "minutes"),
    )
    still = (
        port.buffer_overruns,
        port.local_integrity_errors,
        port.receive_errors,
        port.virtual_lane_15_dropped,
        port.receiver_not_ready_retries_exceeded,
        port.efa_retransmit_timeouts,
    )
    for counter, most, unit in means:
        count = counter.or_else(0)
        if not count:
            continue  # none in any time
        mean = count / max(host.uptime_seconds.need() / _SECONDS[unit], 1)
        if mean > most:
            yield _too_many(port, counter, f"{mean:,.3g} per {unit[:-1]}", most)
            return
    known = [value for value in (*(row[0] for row in means), *still) if value.is_known]
    if not known:
        port.symbol_errors.need()
    counted = [value for value in still if value.or_else(0)]
    if counted:
        texts = ", ".join(f"{_word(value)} {value.value:,}" for value in counted)
        yield unknown(
            f"{texts} since the adapter was reset: whether they grow takes a second "
            "snapshot",
            missing=["a later snapshot"],
            at=counted,
        )
        return
    yield passed(at=known)


def _too_many(port: RdmaPort, value: Value[int], mean: str, most: float) -> Verdict:
    return fail(
        f"counts {value.value:,} {_word(value)}, {mean} since the machine "
        f"was started; at most {most:g} should it be",
        at=value,
        measured=value.value,
        required=most,
        cost="packets are sent again, and the link is about to be lost",
        remedy=f"Clean or replace the cable of {port.title}; replace an instance whose "
        "adapter is virtual.",
        action="ISOLATE",
    )


def _word(counter: Value[int]) -> str:
    return counter.name.rpartition(".")[2].replace("_", " ")
