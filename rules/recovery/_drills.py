"""Drills of recovery, as the events of logs tell of them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from speccheck.validator.evidence.measurement.telemetry import (
    RunEvent,
    RunEvents,
    RunLog,
    RunLogs,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.models.units import duration

_INJECTED, _DETECTED, _RESUMED = (
    "run.failure_injected",
    "run.failure_detected",
    "run.resumed",
)
# The order in which they happen, and what the time up to each was spent on.
_PHASES = {
    _INJECTED: "",
    _DETECTED: "detecting",
    "run.node_replaced": "replacing the node",
    "run.restore": "restoring",
    _RESUMED: "the first step",
}
_FAILED = frozenset({"aborted", "failure", "failed", "error"})
_UTC = "utc"


class Drill(Record):
    """One drill.

    begin, seconds: when it failed, and how long it took to the first completed step;
    None where that cannot be told: failed says that it did not recover, open and
    missing what is not known.
    longest_phase: what took longest, as the end of a sentence.
    """

    name: str
    places: tuple[Place, ...]
    begin: float | None = None
    seconds: float | None = None
    failed: str = ""
    open: str = ""
    missing: str = ""
    longest_phase: str = ""


def drills_of(events: RunEvents, logs: RunLogs) -> list[Drill]:
    """Return all drills that events name, in the order of the logs."""
    by_name: dict[str, list[RunEvent]] = {}
    for run_event in events.shown:
        if run_event.drill.value and run_event.event.value in _PHASES:
            by_name.setdefault(run_event.drill.value, []).append(run_event)
    drills = [
        _drill(name, part, logs.shown)
        for name, run_events in by_name.items()
        for part in _parts(run_events)
    ]
    # A log that is given twice tells of no more drills.
    return [
        *{
            (drill.name, drill.begin, drill.seconds, drill.open): drill
            for drill in drills
        }.values()
    ]


def _parts(events: Sequence[RunEvent]) -> list[list[RunEvent]]:
    """Return the events of each drill of one name.

    Several logs may each call its own drill so; or they tell of parts of one.
    """
    by_log: dict[int | None, list[RunEvent]] = {}
    for event in events:
        by_log.setdefault(event.log.value, []).append(event)
    are_whole = all(_is_whole(_times(part)) for part in by_log.values())
    return [*by_log.values()] if are_whole else [list(events)]


def _is_whole(times: Mapping[str, float]) -> bool:
    return _RESUMED in times and (_INJECTED in times or _DETECTED in times)


def _drill(name: str, events: Sequence[RunEvent], logs: Sequence[RunLog]) -> Drill:
    places = tuple(p for event in events[:1] for p in event.event.places)
    drill = Drill(name, places)
    broken = [event for event in events if event.status.value in _FAILED]
    last = events[-1]
    if broken and broken[-1] is last:
        result = last.reason.or_else("") or f"{last.event.value} {last.status.value}"
        return drill._replace(failed=result)
    if problem := _clocks(events, logs):
        return drill._replace(open=problem, missing="run_logs.clock")
    times = _times(events)
    begin = _INJECTED if _INJECTED in times else _DETECTED
    for needed in (begin, _RESUMED):
        if needed not in times:
            text = f"no {needed} with a time is in the logs"
            return drill._replace(open=text, missing=needed)
    phases = [(text, times[text]) for text in _PHASES if text in times]
    for (item, earlier), (other, later) in pairwise(phases):
        if later < earlier:
            text = f"{other} is {duration(earlier - later)} before {item}"
            return drill._replace(open=f"{text}: its order cannot be", missing=other)
    return drill._replace(
        begin=times[begin],
        seconds=times[_RESUMED] - times[begin],
        longest_phase=_longest(phases),
    )


def _times(events: Sequence[RunEvent]) -> dict[str, float]:
    """Return when each happened: a failure's first word, the last of what follows."""
    times: dict[str, float] = {}
    for event in events:
        name, time = event.event.value, event.time.value
        if name is None or time is None:
            continue
        choose = min if name in {_INJECTED, _DETECTED} else max
        times[name] = choose(time, times.get(name, time))
    return times


def _clocks(events: Sequence[RunEvent], logs: Sequence[RunLog]) -> str:
    """Return why times of several logs do not compare; empty where they do."""
    numbers = {event.log.value for event in events}
    if None in numbers:
        return "in which log its events stand is not known"
    if len(numbers) <= 1:
        return ""
    clocks = [
        logs[number].clock.value
        if number is not None and 0 <= number < len(logs)
        else None
        for number in numbers
    ]
    if all(clock == _UTC for clock in clocks):
        return ""
    return f"its events stand in {len(numbers)} logs, of which not all are in UTC"


def _longest(phases: Sequence[tuple[str, float]]) -> str:
    lengths: Iterator[tuple[float, str]] = (
        (later - earlier, _PHASES[name])
        for (_, earlier), (name, later) in pairwise(phases)
    )
    seconds, name = max(lengths)
    return f", {duration(seconds)} of it {name}" if phases[2:] else ""
