"""Series that do not say of which run, node and device they are, and when in UTC.

Why it hurts: faults across nodes are ordered by time. Without labels, or with clocks
that disagree, the analysis points at the wrong node.

What passes: each series of the dictionary names run, edition and node, and its rank or
its GPU; its times are UTC; and the clocks of the nodes are as close as the clause asks,
by the series node.clock_offset or by the snapshot of the node.

Where it does not apply: nowhere; without series, or without a reading of the clocks,
the clause is undecided.

Source: engineering default.

Bad::

    {"time": "2026-11-22 10:00:00", "loss": 2.31}

Good::

    {"time": "2026-11-22T10:00:00Z", "run": "r1", "edition": "1.0", "node": "n1", ...}
"""

from collections.abc import Iterator

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    RunLog,
    RunLogs,
    finite_of,
    series_of,
)
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.models.units import milliseconds_in
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_UTC = "utc"
_OFFSET = "node.clock_offset"


class Clocks(Numbers):
    """How far clocks of nodes may be off."""

    clock_offset: float


@rule(clause="OBS-009")
def series_without_identity(
    metrics: Metrics, logs: RunLogs, host: Host, limit: Clocks
) -> Verdicts:
    """Judge the labels of all series together, then the clocks."""
    lacking: dict[str, list[Metric]] = {}
    series = [metric for metric in metrics.each() if metric.metric.is_known]
    for metric in series:
        for label in _missing(metric, logs.shown):
            lacking.setdefault(label, []).append(metric)
    if not series:
        yield unknown(
            "no series is one of the dictionary",
            missing=["metrics"],
            at=metrics.count,
        )
    if lacking:
        first = max(lacking.values(), key=len)[0]
        counts = ", ".join(f"{label} ({len(lacking[label])})" for label in lacking)
        yield fail(
            f"of {len(series)} series some lack {counts}, such as "
            f"{first.written.or_else('') or first.metric.value}",
            at=first.metric,
            measured=", ".join(lacking),
            required="run, edition, node, rank or GPU, time in UTC",
            cost="faults cannot be ordered across nodes",
        )
    yield from _clocks(metrics, host, limit)
    if series and not lacking:
        yield passed(at=metrics.count, measured=len(series))


def _missing(series: Metric, logs: tuple[RunLog, ...]) -> Iterator[str]:
    number = series.log.value
    log = logs[number] if number is not None and 0 <= number < len(logs) else None
    if not series.run.is_known and not (log and log.run.is_known):
        yield "run"
    if not series.edition.is_known and not (log and log.edition.is_known):
        yield "edition"
    if not series.node.is_known:
        yield "node"
    if not series.rank.is_known and not series.gpu.is_known:
        yield "rank or GPU"
    if log is None or log.clock.value != _UTC:
        yield "time in UTC"


def _clocks(metrics: Metrics, host: Host, limit: Clocks) -> Verdicts:
    series = series_of(metrics, [_OFFSET])
    numbers = [milliseconds_in(abs(v)) for metric in series for v in finite_of(metric)]
    own = host.clock_offset_milliseconds
    at = [metric.values.places for metric in series] if numbers else [own.places]
    offset = max(numbers) if numbers else abs(own.need())
    if offset <= limit.clock_offset:
        yield passed(at=at[0], measured=offset, required=limit.clock_offset)
        return
    yield fail(
        f"a clock is {offset:,.3g} ms off; at most {limit.clock_offset:g} ms are "
        "allowed",
        at=at[0],
        measured=offset,
        required=limit.clock_offset,
        cost="events of different nodes are ordered wrongly",
        remedy="Enable chrony or PTP, and look at chronyc tracking.",
    )
