"""What readers of run logs share: points become series, names get their meaning.

Points of one series are those of one name with the same labels; their lists have one
length. Names are looked up when the whole log is known, since some of them mean a thing
only beside others of their dialect. What a log says that is no finite number stays a
point without a value, and is counted.

Units are those of UCUM, as OpenTelemetry has them. Times become seconds since 1970 UTC;
numbers show by their size whether they are seconds, milli-, micro- or nanoseconds. A
time without a zone is taken as UTC, and the log's clock is then `local`: its intervals
are right, its place in the day is not known.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Literal

from speccheck.validator.catalogue.metrics import Meaning, MetricNames, metric_names
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.telemetry import MetricEntry
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.capture import Capture, CapturedValue, Scalar
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.formats._printed import absent

_SCALES: dict[str, tuple[str, float]] = {
    "1": ("1", 1.0),
    "%": ("1", 0.01),
    "percent": ("1", 0.01),
    "ratio": ("1", 1.0),
    "s": ("s", 1.0),
    "seconds": ("s", 1.0),
    "ms": ("s", 1e-3),
    "milliseconds": ("s", 1e-3),
    "us": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "By": ("By", 1.0),
    "B": ("By", 1.0),
    "bytes": ("By", 1.0),
    "KiB": ("By", 2.0**10),
    "MiB": ("By", 2.0**20),
    "GiB": ("By", 2.0**30),
    "kB": ("By", 1e3),
    "MB": ("By", 1e6),
    "GB": ("By", 1e9),
    "By/s": ("By/s", 1.0),
    "B/s": ("By/s", 1.0),
    "MiB/s": ("By/s", 2.0**20),
    "GB/s": ("By/s", 1e9),
    "W": ("W", 1.0),
    "watts": ("W", 1.0),
    "mW": ("W", 1e-3),
    "J": ("J", 1.0),
    "joules": ("J", 1.0),
    "mJ": ("J", 1e-3),
    "Cel": ("Cel", 1.0),
    "C": ("Cel", 1.0),
    "celsius": ("Cel", 1.0),
    "MHz": ("MHz", 1.0),
    "GHz": ("MHz", 1e3),
    "TFLOP/s": ("TFLOP/s", 1.0),
    "TFLOPS": ("TFLOP/s", 1.0),
}
ClockName = Literal["utc", "local", "none"]
# 1990 and 2100: what lies outside is no time of a log, but a duration or a count.
_EARLIEST, _LATEST = 631_152_000.0, 4_102_444_800.0
_UNITS = (1.0, 1e3, 1e6, 1e9)
_LONGEST = 40  # of a time


class Moment(Record):
    """When something was logged; without seconds, the log does not tell."""

    seconds: float | None
    clock: ClockName


NEVER = Moment(None, "none")
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
TIMES = (
    *("time", "timestamp", "ts", "datetime", "date", "_timestamp", "@timestamp"),
    *("wall_time", "Wall time", "time_ms", "timestamp_ms", "time_ns", "timestamp_ns"),
    *("time_unix_nano", "unix_time", "created", "asctime"),
)
STEPS = (
    *("step", "global_step", "_step", "iteration", "iter", "train/global_step"),
    *("trainer/global_step", "Step"),
)
NODES = ("node", "host", "hostname", "Hostname", "node_name", "nodename", "instance")
RANKS = ("rank", "global_rank", "process_rank", "RANK")
GPUS = ("gpu", "gpu_id", "gpu_index", "device_index", "GPU")
PEERS = ("peer", "peer_node", "to_node")
DEVICES = ("device", "port", "interface", "nic", "direction", "mode")
RUNS = ("run", "run_id", "run_name", "job", "job_id", "job_name", "experiment")
EDITIONS = ("edition", "spec_edition")
EVENTS = ("event", "event_name")
UNITS = ("unit", "units")
# What stands beside numbers and is none: bookkeeping of Weights & Biases and others.
IGNORED = frozenset({"_runtime", "_wandb", "epoch", "level", "lineno", "pid", "seed"})
KEYS = frozenset(
    {
        *(*TIMES, *STEPS, *NODES, *RANKS, *GPUS, *PEERS, *DEVICES, *RUNS),
        *(*EDITIONS, *EVENTS, *UNITS),
    }
)
# Leaves of an event that logs tell, by the keys that they use.
EVENT_TEXTS = {
    "status": ("status",),
    "reason": ("reason", "cause", "message"),
    "drill": ("drill", "drill_id"),
}
EVENT_NUMBERS = {
    "old_value": ("old_value", "old"),
    "new_value": ("new_value", "new"),
    "seconds": ("seconds", "duration_seconds", "duration_s", "duration"),
}
EVENT_BYTES = ("size_bytes", "bytes", "requested_bytes")
EVENT_KEYS = frozenset(
    {
        *(key for keys in EVENT_TEXTS.values() for key in keys),
        *(key for keys in EVENT_NUMBERS.values() for key in keys),
        *EVENT_BYTES,
    }
)
_MOST_WHOLE = 2**62
_PORT = lazy_pattern(r":\d{1,5}")


class LoggedEvent(Record):
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
        self.events: list[LoggedEvent] = []
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
        """Take a point of a series."""
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
        """Return the step of the last point of a series that has one."""
        series = self._series.get((name, labels))
        steps = series.steps if series is not None else ()
        return next((step for step in reversed(steps) if isinstance(step, int)), None)

    @property
    def has_content(self) -> bool:
        """Whether it tells of anything."""
        return bool(self._series or self.events)

    def put(self, capture: Capture) -> None:
        """Put down the log, its series and its events."""
        capture.command = f"{self.dialect} log"
        first = Span(1, 1, 1)
        number = capture.add("run_logs", first)
        for leaf, log_leaf in self._log_leaves().items():
            capture.put_at(("run_logs", number), leaf, log_leaf, first)
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
        leaves: Mapping[str, CapturedValue],
        log: int,
        line: int,
    ) -> None:
        # One place for all leaves: there may be a hundred thousand series.
        at = Place(capture.name, str(leaves["written"]), span=Span(line, 1, 1))
        part = kind, capture.add(kind, at)
        capture.put_at(part, "log", log, at)
        if kind == "metrics" and self.run and "run" not in leaves:
            capture.put_at(part, "run", safe_text(self.run), at)
        if kind == "metrics" and self.edition:
            capture.put_at(part, "edition", safe_text(self.edition), at)
        for leaf, item in leaves.items():
            capture.put_at(part, leaf, item, at)

    def _log_leaves(self) -> dict[str, CapturedValue]:
        reason = absent("the log does not tell it", self.dialect)
        names = {self.names.event_id(event.written) for event in self.events}
        is_complete: CapturedValue = reason
        if self.is_cut:
            is_complete = False
        elif "run.stop" in names or "run.start" in names:
            is_complete = "run.stop" in names
        first, last = self.clock.first, self.clock.last
        return {
            "dialect": self.dialect,
            "lines": self.lines,
            "unread_lines": self.unread,
            "run": safe_text(self.run) if self.run else reason,
            "edition": safe_text(self.edition) if self.edition else reason,
            "is_complete": is_complete,
            "first_seconds": reason if first is None else first,
            "last_seconds": reason if last is None else last,
            "clock": self.clock.name,
        }

    def _event_leaves(self, event: LoggedEvent) -> dict[str, CapturedValue]:
        leaves: dict[str, CapturedValue] = {"written": safe_text(event.written)}
        known = self.names.event_id(event.written)
        if known is None:
            leaves["event"] = absent("not in the dictionary of events", self.dialect)
        else:
            leaves["event"] = known
        if event.moment.seconds is not None:
            leaves["time"] = event.moment.seconds
        if event.step is not None:
            leaves["step"] = event.step
        for leaf, item in event.leaves.items():
            leaves[leaf] = safe_text(item) if isinstance(item, str) else item
        return leaves


def _too_many(file: str, line: int) -> ReadError:
    return ReadError(
        file,
        "too_large",
        f"more than {_MOST_SERIES:,} series",
        "split the log by nodes, or leave out metrics of programs",
        (line, 1),
    )


def safe_text(text: str) -> str:
    """Return a text of a log: short, without commands of terminals and without secrets.

    The letter that ends a command would hide that a token begins behind it.
    """
    if not text.isprintable():
        text = _CONTROLS.sub(" ", text).strip()
    return hidden(text)[:_LONGEST_TEXT]


def _metric_leaves(
    names: MetricNames, name: str, labels: Labels, series: _Series, meaning: Meaning
) -> dict[str, CapturedValue]:
    leaves: dict[str, CapturedValue] = {"written": safe_text(name)}
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
            leaves[leaf] = safe_text(text)
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
    scale: float, unit: str, stated: str, entry: MetricEntry
) -> tuple[float | None, str]:
    """Return factor and unit from a log to the dictionary; None where there is none.

    A unit that the log itself states wins over that of its dialect.
    """
    if not stated or stated == unit:
        return scale, entry.unit
    return factor(stated, entry.unit), entry.unit


def _converted(
    values: list[float | None], scale: float, is_at: float | None
) -> list[float | None]:
    if is_at is not None:
        return [None if value is None else float(value == is_at) for value in values]
    if scale == 1:
        return values
    divisor = round(1 / scale)
    if divisor * scale == 1:  # 57 % is 0.57, and 57 * 0.01 is not
        return [None if value is None else value / divisor for value in values]
    return [None if value is None else value * scale for value in values]


def factor(stated: str, wanted: str) -> float | None:
    """Return the factor from one unit to another; None for another quantity."""
    if stated == wanted:
        return 1.0
    left, right = _SCALES.get(stated), _SCALES.get(wanted)
    if left is None or right is None or left[0] != right[0]:
        return None
    return left[1] / right[1]


class Clock:
    """What all times of a log come to."""

    __slots__ = ("_names", "first", "last")

    def __init__(self) -> None:
        """Begin without any."""
        self._names: set[ClockName] = set()
        self.first: float | None = None
        self.last: float | None = None

    def note(self, moment: Moment) -> Moment:
        """Take a note of an event, and return it."""
        seconds = moment.seconds
        if seconds is not None:
            self._names.add(moment.clock)
            if self.first is None or seconds < self.first:
                self.first = seconds
            if self.last is None or seconds > self.last:
                self.last = seconds
        return moment

    @property
    def name(self) -> ClockName:
        """One time without a zone makes the clock local."""
        if not self._names:
            return "none"
        return "local" if "local" in self._names else "utc"


def moment_of(stated: object) -> Moment:
    """Return the moment that a log means by a number or a text."""
    if isinstance(stated, bool):
        return NEVER
    if isinstance(stated, int | float):
        return _of_number(float(stated)) if abs(stated) < 1e30 else NEVER  # noqa: PLR2004
    if not isinstance(stated, str) or len(stated) > _LONGEST:
        return NEVER
    text = stated.strip()
    try:
        return _of_number(float(text))
    except ValueError:
        return _of_text(text)


def _of_number(number: float) -> Moment:
    if isfinite(number):
        for unit in _UNITS:
            if _EARLIEST <= number / unit < _LATEST:
                return Moment(number / unit, "utc")
    return NEVER


def _of_text(text: str) -> Moment:
    """Return a moment of ISO 8601, also with a blank or slashes as in nvidia-smi."""
    text = text.replace("/", "-").replace(",", ".")
    for ending in (" UTC", " GMT"):
        if text.endswith(ending):
            text = text.removesuffix(ending) + "Z"
    try:
        result = datetime.fromisoformat(text)
        clock: ClockName = "local" if result.tzinfo is None else "utc"
        if result.tzinfo is None:
            result = result.replace(tzinfo=UTC)
        seconds = result.timestamp()
    except (ValueError, OverflowError):
        return NEVER
    return Moment(seconds, clock) if _EARLIEST <= seconds < _LATEST else NEVER


def first(record: Mapping[str, object], keys: tuple[str, ...]) -> object:
    """Return the value of the first of these keys that a record has."""
    return next((record[key] for key in keys if key in record), None)


def whole(result: object) -> int | None:
    """Return a whole number that is not negative, also as a text or as `12.0`."""
    if isinstance(result, str) and result.isdecimal() and len(result) < 19:  # noqa: PLR2004 - 64 bits
        return int(result)
    if isinstance(result, bool) or not isinstance(result, int | float):
        return None
    is_whole = 0 <= result < _MOST_WHOLE and result == int(result)
    return int(result) if is_whole else None


def number(result: object) -> float | None:
    """Return a number, NaN and infinities too, also from their texts."""
    if isinstance(result, bool):
        return None
    if isinstance(result, int | float):
        try:
            return float(result)
        except OverflowError:
            return None
    if isinstance(result, str) and result.lower().lstrip("+-") in _NOT_FINITE:
        return float(result)
    return None


_NOT_FINITE = frozenset({"nan", "inf", "infinity"})


def text(result: object) -> str:
    """Return a text, or a whole number as one; of anything else nothing."""
    if isinstance(result, bool):
        return ""
    if isinstance(result, int):
        return str(result) if abs(result) < _MOST_WHOLE else ""
    return result if isinstance(result, str) else ""


def labels_of(record: Mapping[str, object], gpu: int | None = None) -> Labels:
    """Return the labels of the numbers that a record holds."""
    node = text(first(record, NODES))
    if "instance" in record and node == record["instance"]:
        node = _PORT.sub("", node) if node.count(":") == 1 else node
    stated = first(record, GPUS)
    devices = [text(record[key]) for key in DEVICES if key in record]
    return Labels(
        node,
        whole(first(record, RANKS)),
        gpu if gpu is not None else whole(stated),
        text(first(record, PEERS)),
        " ".join(device for device in devices if device),
        text(first(record, UNITS)),
        text(first(record, RUNS)),
    )


def event_leaves(record: Mapping[str, object]) -> dict[str, Scalar]:
    """Return what a record says of an event besides its name, time and step."""
    leaves: dict[str, Scalar] = {}
    node, rank = text(first(record, NODES)), whole(first(record, RANKS))
    if node:
        leaves["node"] = node
    if rank is not None:
        leaves["rank"] = rank
    for leaf, keys in EVENT_TEXTS.items():
        if stated := text(first(record, keys)):
            leaves[leaf] = stated
    for leaf, keys in EVENT_NUMBERS.items():
        value = number(first(record, keys))
        if value is not None and abs(value) < _MOST_WHOLE:
            leaves[leaf] = value
    size = whole(first(record, EVENT_BYTES))
    if size is not None:
        leaves["size_bytes"] = size
    return leaves
