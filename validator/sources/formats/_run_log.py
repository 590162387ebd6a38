"""What readers of run logs share: points become series, names get their meaning.

Points of one series are those of one name with the same labels; their lists have one
length. Names are looked up when the whole log is known, since some of them mean a thing
only beside others of their dialect. What a log says that is no finite number stays a
point without a value, and is counted.
"""

from collections.abc import Iterable, Mapping
from math import isfinite

from speccheck.validator.catalogue.metrics import (
    Meaning,
    MetricNames,
    metric_names,
)
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.telemetry import MetricEntry
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.capture import Capture, Found, Scalar
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.formats._printed_lines import absent
from speccheck.validator.sources.formats._run_log_times import Clock, Moment
from speccheck.validator.sources.formats._run_log_units import factor

# A scrape of 500 nodes with 8 GPUs and 25 metrics; the lists of more fill gigabytes.
_MOST_SERIES = 100_000
_LONGEST_TEXT = 200  # of a name, a node or a reason
_CONTROLS = lazy_pattern(r"\x1b(?:\[[0-9;?]*[@-~]|\][0-9]*;)?|[\x00-\x1f\x7f-\x9f]")


class Labels(Record):
    """Whose series it is; two points of one series have the same."""

    node: str = ""
    rank: int | None = None
    gpu: int | None = None
    peer: str = ""
    device: str = ""
    unit: str = ""
    run: str = ""


NO_LABELS = Labels()


class Event(Record):
    """Something that a log tells of once; leaves: those of RunEvent that it tells."""

    written: str
    line: int
    moment: Moment
    step: int | None
    leaves: Mapping[str, Scalar]


class _Series:
    """The points of one name with the same labels."""

    __slots__ = ("line", "not_finite", "steps", "times", "values")

    def __init__(self, line: int) -> None:
        self.line = line
        self.times: list[Scalar | None] = []
        self.steps: list[Scalar | None] = []
        self.values: list[float | None] = []
        self.not_finite = 0


class RunLogText:
    """One log in the making."""

    def __init__(self, dialect: str, file: str) -> None:
        """Start an empty one of a format, of a file of that name."""
        self.dialect = dialect
        self.file = file
        self.lines = 0
        self.unread = 0
        self.run = ""
        self.edition = ""
        self.is_cut = False
        self.clock = Clock()
        self.events: list[Event] = []
        self.names = metric_names()
        self._series: dict[tuple[str, Labels], _Series] = {}

    def point(
        self,
        name: str,
        labels: Labels,
        value: float,
        moment: Moment,
        step: int | None,
        line: int,
    ) -> None:
        """One number."""
        key = name, labels
        series = self._series.get(key)
        if series is None:
            if len(self._series) >= _MOST_SERIES:
                raise _too_many(self.file, line)
            series = self._series[key] = _Series(line)
        series.times.append(moment.seconds)
        series.steps.append(step)
        if isfinite(value):
            series.values.append(value)
        else:
            series.values.append(None)
            series.not_finite += 1

    def last_step(self, name: str, labels: Labels) -> int | None:
        """The step of the last point of a series that has one."""
        series = self._series.get((name, labels))
        steps = series.steps if series is not None else ()
        return next((one for one in reversed(steps) if isinstance(one, int)), None)

    @property
    def has_content(self) -> bool:
        """Whether it tells of anything."""
        return bool(self._series or self.events)

    def put(self, capture: Capture) -> None:
        """The log, its series and its events."""
        capture.command = f"{self.dialect} log"
        first = Span(1, 1, 1)
        number = capture.add("run_logs", first)
        for leaf, found in self._log_leaves().items():
            capture.put_at(("run_logs", number), leaf, found, first)
        capture.listed("metrics", first)
        capture.listed("run_events", first)
        dialects = self.names.dialects_of({name for name, _ in self._series})
        for (name, labels), series in self._series.items():
            meaning = self.names.meaning(name, dialects)
            leaves = _metric_leaves(self.names, name, labels, series, meaning)
            self._put(capture, "metrics", leaves, number, series.line)
        for event in self.events:
            leaves = self._event_leaves(event)
            self._put(capture, "run_events", leaves, number, event.line)

    def _put(
        self,
        capture: Capture,
        kind: str,
        leaves: Mapping[str, Found],
        log: int,
        line: int,
    ) -> None:
        # One place for all leaves: there may be a hundred thousand series.
        at = Place(capture.name, str(leaves["written"]), span=Span(line, 1, 1))
        part = kind, capture.add(kind, at)
        capture.put_at(part, "log", log, at)
        if kind == "metrics" and self.run and "run" not in leaves:
            capture.put_at(part, "run", told_text(self.run), at)
        if kind == "metrics" and self.edition:
            capture.put_at(part, "edition", told_text(self.edition), at)
        for leaf, found in leaves.items():
            capture.put_at(part, leaf, found, at)

    def _log_leaves(self) -> dict[str, Found]:
        reason = absent("the log does not tell it", self.dialect)
        names = {self.names.event_id(one.written) for one in self.events}
        is_complete: Found = reason
        if self.is_cut:
            is_complete = False
        elif "run.stop" in names or "run.start" in names:
            is_complete = "run.stop" in names
        first, last = self.clock.first, self.clock.last
        return {
            "dialect": self.dialect,
            "lines": self.lines,
            "unread_lines": self.unread,
            "run": told_text(self.run) if self.run else reason,
            "edition": told_text(self.edition) if self.edition else reason,
            "is_complete": is_complete,
            "first_seconds": reason if first is None else first,
            "last_seconds": reason if last is None else last,
            "clock": self.clock.name,
        }

    def _event_leaves(self, event: Event) -> dict[str, Found]:
        leaves: dict[str, Found] = {"written": told_text(event.written)}
        known = self.names.event_id(event.written)
        if known is None:
            leaves["event"] = absent("not in the dictionary of events", self.dialect)
        else:
            leaves["event"] = known
        if event.moment.seconds is not None:
            leaves["time"] = event.moment.seconds
        if event.step is not None:
            leaves["step"] = event.step
        for leaf, found in event.leaves.items():
            leaves[leaf] = told_text(found) if isinstance(found, str) else found
        return leaves


def _too_many(file: str, line: int) -> ReadError:
    return ReadError(
        file,
        "too_large",
        f"more than {_MOST_SERIES:,} series",
        "split the log by nodes, or leave out metrics of programs",
        (line, 1),
    )


def told_text(text: str) -> str:
    """A text of a log: short, without commands of terminals and without secrets.

    The letter that ends a command would hide that a token begins behind it.
    """
    if not text.isprintable():
        text = _CONTROLS.sub(" ", text).strip()
    return hidden(text)[:_LONGEST_TEXT]


def _metric_leaves(
    names: MetricNames,
    name: str,
    labels: Labels,
    series: _Series,
    meaning: Meaning,
) -> dict[str, Found]:
    leaves: dict[str, Found] = {"written": told_text(name)}
    alias = meaning.alias
    entry = names.entry(alias.metric) if alias is not None else None
    values = series.values
    scale: float | None = None
    unit = ""
    if alias is not None and entry is not None:
        scale, unit = _scale(alias.scale, alias.unit, labels.unit, entry)
    if alias is None or entry is None or scale is None:
        words = "no one metric of the dictionary"
        leaves["metric"] = absent(words, name[:_LONGEST_TEXT])
        candidates: Iterable[str] = (
            (alias.metric,) if alias is not None else meaning.candidates
        )
        leaves["candidates"] = [*candidates]
        unit = labels.unit
    else:
        leaves["metric"] = entry.id
        leaves["candidates"] = [entry.id]
        values = _converted(values, scale, alias.is_at)
    if unit:
        leaves["unit"] = unit
    gpu = labels.gpu if labels.gpu is not None else meaning.gpu
    for leaf, text in (
        ("told_unit", labels.unit),
        ("node", labels.node),
        ("peer", labels.peer),
        ("device", labels.device),
        ("run", labels.run),
    ):
        if text:
            leaves[leaf] = told_text(text)
    if labels.rank is not None:
        leaves["rank"] = labels.rank
    if gpu is not None:
        leaves["gpu"] = gpu
    leaves["times"] = series.times
    leaves["steps"] = series.steps
    leaves["values"] = [*values]
    leaves["not_finite"] = series.not_finite
    return leaves


def _scale(
    scale: float, unit: str, told: str, entry: MetricEntry
) -> tuple[float | None, str]:
    """From told values to the unit of the dictionary; None where there is no way.

    A unit that the log itself tells wins over that of its dialect.
    """
    if not told or told == unit:
        return scale, entry.unit
    return factor(told, entry.unit), entry.unit


def _converted(
    values: list[float | None], scale: float, is_at: float | None
) -> list[float | None]:
    if is_at is not None:
        return [None if one is None else float(one == is_at) for one in values]
    if scale == 1:
        return values
    divisor = round(1 / scale)
    if divisor * scale == 1:  # 57 % is 0.57, and 57 * 0.01 is not
        return [None if one is None else one / divisor for one in values]
    return [None if one is None else one * scale for one in values]
