"""What the logs of a run hold, as reports show it: logs, metrics, events.

Intervals are counted outside the windows in which a run evaluates or saves, as its
events declare them; the series of one metric, of all nodes and GPUs, are told together.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import Literal, cast

from speccheck.validator.catalogue.metrics import metric_dictionary
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    MetricEntry,
    Metrics,
    RunEvents,
    RunLog,
    RunLogs,
)
from speccheck.validator.evidence.record import Record

_FAILURES = ("run.failure_injected", "run.failure_detected")
_RESUMED = "run.resumed"
# What opens a window, and what closes it.
_WINDOWS = {
    "run.eval_start": "run.eval_stop",
    "run.checkpoint_started": "run.checkpoint_saved",
}
_DECIMALS = 3  # of seconds


Clock = Literal["utc", "local", "none"]  # local: no zone is told


class LogSummary(Record):
    """One log; is_complete: None where it tells of no beginning and no end."""

    file: str
    dialect: str
    lines: int
    unread_lines: int
    run: str
    edition: str
    clock: Clock
    is_complete: bool | None
    first_seconds: float | None
    last_seconds: float | None


class MetricSummary(Record):
    """All series of one metric, or of one name that is none of the dictionary.

    metric: its id; empty for another name. candidates: what such a name may mean.
    interval_median, interval_p99: seconds between points, outside of windows.
    interval_steps: the usual number of steps between them. required_seconds,
    required_steps: of the dictionary, whichever is longer in time. last_least,
    last_most: of the last finite values of the series.
    """

    metric: str
    written: tuple[str, ...]
    candidates: tuple[str, ...]
    unit: str
    series: int
    nodes: int
    points: int
    not_finite: int
    interval_median: float | None
    interval_p99: float | None
    interval_steps: int | None
    required_seconds: float | None
    required_steps: int | None
    last_least: float | None
    last_most: float | None


class EventSummary(Record):
    """All events of one kind; event: its id, empty for one that nobody tabulates."""

    event: str
    written: str
    times: int
    statuses: tuple[str, ...]
    first_seconds: float | None
    last_seconds: float | None


class DrillSummary(Record):
    """One drill: how long from the failure until the run went on.

    begins: run.failure_injected, or run.failure_detected where nobody tells of that.
    seconds: None where the log lacks one end.
    """

    drill: str
    begins: str
    seconds: float | None


class MeasuredTelemetry(Record):
    """What all logs of a plan hold together."""

    logs: tuple[LogSummary, ...]
    metrics: tuple[MetricSummary, ...]
    others: tuple[MetricSummary, ...]
    events: tuple[EventSummary, ...]
    drills: tuple[DrillSummary, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """The metrics of the dictionary that have a finite value."""
        return frozenset(
            metric.metric for metric in self.metrics if metric.last_most is not None
        )


def measured_telemetry(evidence: Evidence) -> MeasuredTelemetry | None:
    """Return the logs of a plan; None without any."""
    logs, metrics = evidence.get(RunLogs), evidence.get(Metrics)
    events = evidence.get(RunEvents)
    if logs is None or metrics is None:
        return None
    windows = _windows(events)
    known: dict[str, list[Metric]] = {}
    others: dict[str, list[Metric]] = {}
    for metric in metrics.shown:
        name = metric.metric.or_else("")
        group = known if name else others
        group.setdefault(name or metric.written.or_else(""), []).append(metric)
    order = {name: at for at, name in enumerate(metric_dictionary().entries)}
    return MeasuredTelemetry(
        tuple(_log(run_log) for run_log in logs.shown),
        tuple(
            _metric(known[name], windows, metric_dictionary().entry(name))
            for name in sorted(known, key=lambda text: order.get(text, len(order)))
        ),
        tuple(_metric(series, windows, None) for series in others.values()),
        tuple(_events(events)),
        tuple(_drills(events)),
    )


def _log(log: RunLog) -> LogSummary:
    places = log.lines.places
    return LogSummary(
        places[0].file if places else "",
        log.dialect.or_else(""),
        log.lines.or_else(0),
        log.unread_lines.or_else(0),
        log.run.or_else(""),
        log.edition.or_else(""),
        cast("Clock", log.clock.or_else("none")),
        log.is_complete.value,
        log.first_seconds.value,
        log.last_seconds.value,
    )


def _metric(
    series: Sequence[Metric],
    windows: Sequence[tuple[float, float]],
    entry: MetricEntry | None,
) -> MetricSummary:
    values = [metric.values.or_else(()) for metric in series]
    gaps = sorted(gap for metric in series for gap in _gaps(metric, windows))
    last = [finite[-1] for value in values if (finite := _finite(value))]
    return MetricSummary(
        entry.id if entry is not None else "",
        tuple(dict.fromkeys(metric.written.or_else("") for metric in series)),
        tuple(filter(None, series[0].candidates.or_else(()))) if entry is None else (),
        series[0].unit.or_else(""),
        len(series),
        len({metric.node.value for metric in series if metric.node.is_known}),
        sum(map(len, values)),
        sum(metric.not_finite.or_else(0) for metric in series),
        _quantile(gaps, 0.5),
        _quantile(gaps, 0.99),
        _usual_steps(series),
        entry.interval_seconds if entry is not None else None,
        entry.interval_steps if entry is not None else None,
        min(last, default=None),
        max(last, default=None),
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest element that `share` of them do not exceed.

    None without any.
    """
    if not ordered:
        return None
    return round(ordered[max(0, ceil(share * len(ordered)) - 1)], _DECIMALS)


def _finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _gaps(series: Metric, windows: Sequence[tuple[float, float]]) -> Iterator[float]:
    """Yield the seconds between points by time, less what windows cover."""
    times = sorted({value for value in series.times.or_else(()) if value is not None})
    for value, later in pairwise(times):
        covered = 0.0
        reached = value
        for opened, closed in windows:
            begin, end = max(opened, reached), min(closed, later)
            if end > begin:
                covered += end - begin
                reached = end
        yield later - value - covered


def _usual_steps(series: Sequence[Metric]) -> int | None:
    """Return the median number of steps between points.

    None where they state no steps.
    """
    numbers = sorted(
        later - number
        for each in series
        for number, later in pairwise(
            [step for step in each.steps.or_else(()) if step is not None]
        )
        if later > number
    )
    return numbers[len(numbers) // 2] if numbers else None


def _windows(events: RunEvents | None) -> list[tuple[float, float]]:
    """Return when a run evaluates or saves; a window that nobody closes is none."""
    result = sorted(
        (run_event.time.value, run_event.event.value or "")
        for run_event in (events.shown if events is not None else ())
        if run_event.time.value is not None
    )
    number_lists: list[tuple[float, float]] = []
    for opening, closing in _WINDOWS.items():
        opened: float | None = None
        for time, name in result:
            if name == opening and opened is None:
                opened = time
            elif name == closing and opened is not None:
                number_lists.append((opened, time))
                opened = None
    return sorted(number_lists)


def _events(events: RunEvents | None) -> Iterator[EventSummary]:
    groups: dict[tuple[str, str], list[int]] = {}
    shown = events.shown if events is not None else ()
    for at, run_event in enumerate(shown):
        key = run_event.event.or_else(""), run_event.written.or_else("")
        groups.setdefault(key, []).append(at)
    for (event, written), numbers in groups.items():
        rows = [shown[at] for at in numbers]
        moments = [time for row in rows if (time := row.time.value) is not None]
        yield EventSummary(
            event,
            written,
            len(rows),
            tuple(dict.fromkeys(row.status.value for row in rows if row.status.value)),
            min(moments, default=None),
            max(moments, default=None),
        )


def _drills(events: RunEvents | None) -> Iterator[DrillSummary]:
    times: dict[str, dict[str, float]] = {}
    for run_event in events.shown if events is not None else ():
        if run_event.drill.value:
            result = times.setdefault(run_event.drill.value, {})
            if run_event.event.value and run_event.time.value is not None:
                result.setdefault(run_event.event.value, run_event.time.value)
    for drill, result in times.items():
        begins = next((name for name in _FAILURES if name in result), "")
        seconds = None
        if begins and _RESUMED in result:
            seconds = round(result[_RESUMED] - result[begins], _DECIMALS)
        yield DrillSummary(drill, begins, seconds)
