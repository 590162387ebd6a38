"""What the text report says of the logs of a run: logs, metrics, events."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from speccheck.validator.catalogue.metrics import metric_dictionary, metric_names
from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.measurements.telemetry import (
    MeasuredTelemetry,
    ToldDrill,
    ToldEvent,
    ToldLog,
    ToldMetric,
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
from speccheck.validator.run.run import Run

_CLAUSE, _NUMBER = "OBS-001", "core_metrics"


class CoreMetric(Record):
    """A metric that every run should log.

    is_there: in any of the logs. stood_in: the metrics that are there in its place,
    where the dictionary has such.
    """

    metric: str
    is_there: bool
    stood_in: tuple[str, ...]


def telemetry_of(run: Run) -> Iterator[MeasuredTelemetry]:
    """Of each plan of a run that has logs, what they hold."""
    for plan in run.plans:
        if plan.measured is not None and plan.measured.telemetry is not None:
            yield plan.measured.telemetry


def core_metrics(edition: Edition, telemetry: MeasuredTelemetry) -> list[CoreMetric]:
    """The core metrics of the edition, and which of them the logs hold."""
    clause = edition.clauses.get(_CLAUSE)
    number = clause.numbers.get(_NUMBER) if clause is not None else None
    asked = number.value if number is not None else ()
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
        for name in (asked if isinstance(asked, list | tuple) else ())
        if isinstance(name, str)
    ]


def _stood_in(
    telemetry: MeasuredTelemetry, sets: Iterable[tuple[str, ...]]
) -> tuple[str, ...]:
    """The first set of metrics that is whole."""
    whole = (one for one in sets if one and telemetry.ids.issuperset(one))
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


def telemetry_lines(run: Run, style: Style, *, full: bool) -> Iterator[str]:
    """The lines of all logs of a run."""
    for telemetry in telemetry_of(run):
        yield from _log_lines(telemetry.logs, style, full=full)
        yield from _metric_lines(telemetry, style, full=full)
        yield from _other_lines(telemetry.others, style, full=full)
        yield from _core_lines(run.edition, telemetry, style)
        yield from _event_lines(telemetry.events, style)
        yield from _drill_lines(telemetry.drills, style)


def _log_lines(logs: Sequence[ToldLog], style: Style, *, full: bool) -> Iterator[str]:
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


def _when(log: ToldLog) -> Iterator[str]:
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
    for one in shown:
        name = one.metric
        if one.series > 1:
            name += f" {style.times}{one.series:,}"
        cells = (
            f"{one.points:,}",
            _seconds(one.interval_median),
            _seconds(one.interval_p99),
            _asked(one),
            _last(one),
        )
        yield _row(f"{_INDENT}{name}", cells)
        written = [_safe(each) for each in one.written if each != one.metric]
        note = f"as {', '.join(written)}" if written else ""
        if one.not_finite:
            note += f"{'; ' if note else ''}{one.not_finite:,} NaN or infinite"
        if note:
            yield wrap(note, style.width, _INDENT * 2)
    if len(shown) < len(metrics):
        more = counted(len(metrics) - len(shown), "more metric")
        yield f"{_INDENT}{more} (--full lists them)"


def _row(name: str, cells: Sequence[str]) -> str:
    points, every, often, asked, last = cells
    return (
        f"{name:<{_NAME_WIDTH}} {points:>7} {every:>7} {often:>7}  {asked:<15} {last}"
    ).rstrip()


def _seconds(value: float | None) -> str:
    return "-" if value is None else duration(value)


def _asked(one: ToldMetric) -> str:
    """`10 steps, 60 s`: whichever is longer in time."""
    words = [f"{one.required_steps} steps"] if one.required_steps else []
    words += [duration(one.required_seconds)] if one.required_seconds else []
    return ", ".join(words) or "once"


def _last(one: ToldMetric) -> str:
    if one.last_least is None or one.last_most is None:
        return "none"
    if one.unit == "s" and one.last_most < _SMALL_SECONDS:
        least, most = (f"{1e6 * each:.4g}" for each in (one.last_least, one.last_most))
        return f"{most if least == most else f'{least} to {most}'} us"
    least, most = _value(one.last_least, one.unit), _value(one.last_most, one.unit)
    words = most if least == most else f"{least} to {most}"
    has_unit = one.unit not in {"", "1", _BYTES} and one.unit[0] != "{"
    return f"{words} {_safe(one.unit)}" if has_unit else words


def _value(value: float, unit: str) -> str:
    if unit == _BYTES and value >= 0:
        return shown_bytes(round(value))
    return f"{value:.4g}"


def _other_lines(
    others: Sequence[ToldMetric], style: Style, *, full: bool
) -> Iterator[str]:
    if not others:
        return
    shown = others if full else others[:_MOST_NAMES]
    words = [
        _safe(one.written[0])
        + (f" (may be {' or '.join(one.candidates)})" if one.candidates else "")
        for one in shown
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
    there = [one for one in core if one.is_there or one.stood_in]
    missing = [one.metric for one in core if not one.is_there and not one.stood_in]
    text = f"core metrics: {len(there)} of {len(core)} in these logs"
    if missing:
        text += f"; missing: {', '.join(missing)}"
    yield wrap(text, style.width, _INDENT)


def _event_lines(events: Sequence[ToldEvent], style: Style) -> Iterator[str]:
    if not events:
        return
    yield ""
    yield style.paint("events", "bold")
    known = [one for one in events if one.event]
    yield (
        facts_on_lines(map(_event, known), style, _INDENT)
        if known
        else (f"{_INDENT}none of the dictionary")
    )
    others = [f"{_safe(one.written)} {one.times:,}" for one in events if not one.event]
    if others:
        text = f"not in the dictionary: {', '.join(others)}"
        yield wrap(text, style.width, _INDENT)


def _drill_lines(drills: Sequence[ToldDrill], style: Style) -> Iterator[str]:
    for one in drills:
        text = f"drill {_safe(one.drill)}: "
        if one.seconds is None:
            text += "no failure and first step after it are told together"
        else:
            text += f"{duration(one.seconds)} from {one.begins} to run.resumed"
        yield wrap(text, style.width, _INDENT)


def _event(one: ToldEvent) -> str:
    text = f"{one.event} {one.times:,}"
    return f"{text} ({', '.join(map(_safe, one.statuses))})" if one.statuses else text


def _safe(text: str) -> str:
    return printable(hidden(text))
