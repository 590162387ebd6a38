"""What the text report says of the logs of a run: logs, metrics, events."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from speccheck.validator.catalogue.metrics import metric_dictionary, metric_names
from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.measurements.telemetry import (
    DrillSummary,
    EventSummary,
    LogSummary,
    MeasuredTelemetry,
    MetricSummary,
)
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.models.units import duration
from speccheck.validator.report.style import (
    Style,
    counted,
    facts_on_lines,
    printable,
    wrap,
)
from speccheck.validator.run.run import RunResult

_CLAUSE, _NUMBER = "OBS-001", "core_metrics"


class CoreMetric(Record):
    """A metric that every run should log.

    is_there: in any of the logs. stood_in: the metrics that are there in its place,
    where the dictionary has such.
    """

    metric: str
    is_there: bool
    stood_in: tuple[str, ...]


def telemetry_of(run: RunResult) -> Iterator[MeasuredTelemetry]:
    """Yield what the logs of each plan of a run hold, if it has logs."""
    for plan in run.plans:
        if plan.measured is not None and plan.measured.telemetry is not None:
            yield plan.measured.telemetry


def core_metrics(edition: Edition, telemetry: MeasuredTelemetry) -> list[CoreMetric]:
    """Return the core metrics of the edition, and which of them the logs hold."""
    clause = edition.clauses.get(_CLAUSE)
    number = clause.numbers.get(_NUMBER) if clause is not None else None
    result = number.value if number is not None else ()
    dictionary = metric_dictionary()
    return [
        CoreMetric(
            name,
            name in telemetry.ids,
            _stood_in(
                telemetry,
                (dictionary.stand_ins(name), *metric_names().computed.get(name, ())),
            ),
        )
        for name in (result if isinstance(result, list | tuple) else ())
        if isinstance(name, str)
    ]


def _stood_in(
    telemetry: MeasuredTelemetry, sets: Iterable[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the first set of metrics that is whole."""
    whole = (set_ for set_ in sets if set_ and telemetry.ids.issuperset(set_))
    return next(whole, ())


_INDENT = "  "
_MOST_METRICS = 20
_MOST_LOGS = 6
_MOST_NAMES = 8
_NAME_WIDTH = 29
_BYTES = "By"
_SMALL_SECONDS = 1e-3
_CLOCKS = {
    "utc": " UTC",
    "local": ", a clock without a zone",
}


def telemetry_lines(run: RunResult, style: Style, *, full: bool) -> Iterator[str]:
    """Yield the lines of all logs of a run."""
    for telemetry in telemetry_of(run):
        yield from _log_lines(telemetry.logs, style, full=full)
        yield from _metric_lines(telemetry, style, full=full)
        yield from _other_lines(telemetry.others, style, full=full)
        yield from _core_lines(run.edition, telemetry, style)
        yield from _event_lines(telemetry.events, style)
        yield from _drill_lines(telemetry.drills, style)


def _log_lines(
    logs: Sequence[LogSummary], style: Style, *, full: bool
) -> Iterator[str]:
    shown = logs if full else logs[:_MOST_LOGS]
    for log in shown:
        lines = counted(log.lines, "line")
        if log.unread_lines:
            lines += f", {log.unread_lines:,} of them not readable"
        facts = [style.paint(_safe(log.file), "bold"), log.dialect, lines]
        facts += [f"run {_safe(log.run)}"] if log.run else []
        facts += [f"edition {_safe(log.edition)}"] if log.edition else []
        yield facts_on_lines(facts, style, _INDENT)
        yield facts_on_lines(_when(log), style, _INDENT * 2)
    if len(shown) < len(logs):
        more = counted(len(logs) - len(shown), "more log")
        yield f"{_INDENT}{more} (--full lists them)"


def _when(log: LogSummary) -> Iterator[str]:
    if log.first_seconds is None or log.last_seconds is None:
        yield "no time in it"
    else:
        first, last = _moment(log.first_seconds), _moment(log.last_seconds)
        if first[:10] == last[:10]:
            last = last[11:]
        span = duration(log.last_seconds - log.first_seconds)
        yield f"{first} to {last}{_CLOCKS.get(log.clock, '')}"
        yield span
    if log.is_complete is not None:
        yield "tells its end" if log.is_complete else "its end is not in it"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _metric_lines(
    telemetry: MeasuredTelemetry, style: Style, *, full: bool
) -> Iterator[str]:
    metrics = telemetry.metrics
    if not metrics:
        yield f"{_INDENT}no metric of the dictionary is in it"
        return
    yield ""
    head = ("points", "every", "p99", "asked", "last")
    yield style.paint(_row("metrics of the dictionary", head), "bold")
    shown = metrics if full else metrics[:_MOST_METRICS]
    for item in shown:
        name = item.metric
        if item.series > 1:
            name += f" {style.times}{item.series:,}"
        cells = (
            f"{item.points:,}",
            _seconds(item.interval_median),
            _seconds(item.interval_p99),
            _interval_text(item),
            _last(item),
        )
        yield _row(f"{_INDENT}{name}", cells)
        written = [_safe(each) for each in item.written if each != item.metric]
        note = f"as {', '.join(written)}" if written else ""
        if item.not_finite:
            note += f"{'; ' if note else ''}{item.not_finite:,} NaN or infinite"
        if note:
            yield wrap(note, style.width, _INDENT * 2)
    if len(shown) < len(metrics):
        more = counted(len(metrics) - len(shown), "more metric")
        yield f"{_INDENT}{more} (--full lists them)"


def _row(name: str, cells: Sequence[str]) -> str:
    points, every, often, text, last = cells
    return (
        f"{name:<{_NAME_WIDTH}} {points:>7} {every:>7} {often:>7}  {text:<15} {last}"
    ).rstrip()


def _seconds(value: float | None) -> str:
    return "-" if value is None else duration(value)


def _interval_text(item: MetricSummary) -> str:
    """Return `10 steps, 60 s`: whichever is longer in time."""
    words = [f"{item.required_steps} steps"] if item.required_steps else []
    words += [duration(item.required_seconds)] if item.required_seconds else []
    return ", ".join(words) or "once"


def _last(item: MetricSummary) -> str:
    if item.last_least is None or item.last_most is None:
        return "none"
    if item.unit == "s" and item.last_most < _SMALL_SECONDS:
        least, most = (
            f"{1e6 * each:.4g}" for each in (item.last_least, item.last_most)
        )
        return f"{most if least == most else f'{least} to {most}'} us"
    least, most = _value(item.last_least, item.unit), _value(item.last_most, item.unit)
    words = most if least == most else f"{least} to {most}"
    has_unit = item.unit not in {"", "1", _BYTES} and item.unit[0] != "{"
    return f"{words} {_safe(item.unit)}" if has_unit else words


def _value(value: float, unit: str) -> str:
    if unit == _BYTES and value >= 0:
        return shown_bytes(round(value))
    return f"{value:.4g}"


def _other_lines(
    others: Sequence[MetricSummary], style: Style, *, full: bool
) -> Iterator[str]:
    if not others:
        return
    shown = others if full else others[:_MOST_NAMES]
    words = [
        _safe(item.written[0])
        + (f" (may be {' or '.join(item.candidates)})" if item.candidates else "")
        for item in shown
    ]
    more = len(others) - len(shown)
    if more:
        words.append(f"{more:,} more (--full lists them)")
    head = f"{counted(len(others), 'name')} not in the dictionary, or not sure: "
    yield wrap(head + ", ".join(words), style.width, _INDENT)


def _core_lines(
    edition: Edition, telemetry: MeasuredTelemetry, style: Style
) -> Iterator[str]:
    core = core_metrics(edition, telemetry)
    if not core:
        return
    there = [
        core_metric
        for core_metric in core
        if core_metric.is_there or core_metric.stood_in
    ]
    missing = [
        core_metric.metric
        for core_metric in core
        if not core_metric.is_there and not core_metric.stood_in
    ]
    text = f"core metrics: {len(there)} of {len(core)} in these logs"
    if missing:
        text += f"; missing: {', '.join(missing)}"
    yield wrap(text, style.width, _INDENT)


def _event_lines(events: Sequence[EventSummary], style: Style) -> Iterator[str]:
    if not events:
        return
    yield ""
    yield style.paint("events", "bold")
    known = [event for event in events if event.event]
    yield (
        facts_on_lines(map(_event, known), style, _INDENT)
        if known
        else (f"{_INDENT}none of the dictionary")
    )
    others = [
        f"{_safe(event.written)} {event.times:,}" for event in events if not event.event
    ]
    if others:
        text = f"not in the dictionary: {', '.join(others)}"
        yield wrap(text, style.width, _INDENT)


def _drill_lines(drills: Sequence[DrillSummary], style: Style) -> Iterator[str]:
    for drill in drills:
        text = f"drill {_safe(drill.drill)}: "
        if drill.seconds is None:
            text += "no failure and first step after it are told together"
        else:
            text += f"{duration(drill.seconds)} from {drill.begins} to run.resumed"
        yield wrap(text, style.width, _INDENT)


def _event(item: EventSummary) -> str:
    text = f"{item.event} {item.times:,}"
    return f"{text} ({', '.join(map(_safe, item.statuses))})" if item.statuses else text


def _safe(text: str) -> str:
    return printable(hidden(text))
