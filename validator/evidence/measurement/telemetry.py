"""What the log of a run tells over time: series of metrics, and events.

A log is what a training framework, an exporter or a monitor writes while a job runs.
Names and units are those of the metric dictionary (schemas/catalogues/metrics); the
name as it stands in the log is kept beside. Times are seconds since 1970, UTC.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value


class MetricEntry(Record):
    """One metric of the dictionary.

    kind: gauge, counter or histogram. group: training, memory, accelerator, energy,
    errors, network, checkpoint, node. interval_seconds, interval_steps: the longest
    that it may be silent; None where the dictionary sets none. clauses: that ask for
    it. proxy_for: the metric that it stands for, together with its other stand-ins.
    """

    id: str
    unit: str
    kind: str
    group: str
    level: Literal["must", "should", "may"]
    interval_seconds: float | None = None
    interval_steps: int | None = None
    clauses: tuple[str, ...] = ()
    proxy_for: str = ""


class MetricDictionary:
    """The dictionary, read when a rule first looks into it."""

    kind = "metrics"  # what is missing where nobody gives a dictionary
    scope = "measurement"

    def __init__(self, read: Callable[[], Mapping[str, MetricEntry]]) -> None:
        """Take what reads it."""
        self._read = read

    @cached_property
    def entries(self) -> Mapping[str, MetricEntry]:
        """All metrics by id."""
        return self._read()

    def entry(self, name: str | None) -> MetricEntry | None:
        """Return the metric of that id.

        None for one that the dictionary does not have.
        """
        return None if name is None else self.entries.get(name)

    def of_clause(self, clause: str) -> tuple[MetricEntry, ...]:
        """Return the metrics that a clause asks for."""
        return tuple(
            entry for entry in self.entries.values() if clause in entry.clauses
        )

    def stand_ins(self, name: str) -> tuple[str, ...]:
        """Return the metrics that together stand for one that nobody exports."""
        return tuple(
            entry.id for entry in self.entries.values() if entry.proxy_for == name
        )


class RunLog(Part):
    """One log as a whole: who wrote it, and how much of it could be read."""

    __slots__ = ()
    kind = "run_logs"
    scope = "measurement"

    dialect: Value[str]  # jsonl, csv, mllog, prometheus
    lines: Value[int]  # that are, or should be, records of it
    unread_lines: Value[int]  # that should be records of it, and are none
    run: Value[str]  # what the log calls the run
    edition: Value[str]  # of the specification, where the log names one
    is_complete: Value[bool]  # it tells of the end of the run
    first_seconds: Value[float]
    last_seconds: Value[float]
    clock: Value[str]  # utc, local (no zone is told), or none


class Metric(Part):
    """One metric of one source over time; its lists have one length."""

    __slots__ = ()
    kind = "metrics"
    scope = "measurement"

    metric: Value[str]  # its id in the dictionary; absent where that has none
    candidates: Value[tuple[str | None, ...]]  # ids that the name may mean
    written: Value[str]  # the name in the log
    unit: Value[str]  # of `values`: that of the dictionary, where that has one
    told_unit: Value[str]  # the unit that the log names
    log: Value[int]  # number of the log in run_logs
    run: Value[str]
    edition: Value[str]
    node: Value[str]
    rank: Value[int]
    gpu: Value[int]
    peer: Value[str]  # the other node of a latency
    device: Value[str]  # of what else of the node it is: mlx5_0 port 1
    times: Value[tuple[float | None, ...]]
    steps: Value[tuple[int | None, ...]]
    values: Value[tuple[float | None, ...]]  # None where it is no finite number
    not_finite: Value[int]  # how many are NaN or infinite


class Metrics(Parts[Metric]):
    """All series of all logs."""

    __slots__ = ()
    part = Metric
    scope = "measurement"


class RunEvent(Part):
    """Something that happened once."""

    __slots__ = ()
    kind = "run_events"
    scope = "measurement"

    event: Value[str]  # its id in the dictionary: run.failure_detected
    written: Value[str]  # the name in the log
    log: Value[int]
    time: Value[float]
    step: Value[int]
    node: Value[str]
    rank: Value[int]
    status: Value[str]  # success, aborted, ...
    reason: Value[str]
    old_value: Value[float]  # of what changed
    new_value: Value[float]
    seconds: Value[float]  # how long it took
    size_bytes: Value[int]
    drill: Value[str]  # name of the drill that it is a part of


class RunEvents(Parts[RunEvent]):
    """All events of all logs, in the order of the logs."""

    __slots__ = ()
    part = RunEvent
    scope = "measurement"


class RunLogs(Parts[RunLog]):
    """All logs."""

    __slots__ = ()
    part = RunLog
    scope = "measurement"


# What opens a stretch, and what closes it.
_STRETCHES = (
    ({"run.eval_start"}, "run.eval_stop"),
    ({"run.checkpoint_started"}, "run.checkpoint_saved"),
    ({"run.failure_injected", "run.failure_detected"}, "run.resumed"),
)
_SAVED = "run.checkpoint_saved"


class Sample(Record):
    """One reading; value: None where it is no finite number."""

    time: float | None
    step: int | None
    value: float | None


def samples_of(metric: Metric) -> list[Sample]:
    """Return all samples in the log's order.

    Raises MissingEvidence without any list.
    """
    values = metric.values.need()
    nothing = (None,) * len(values)
    times = metric.times.or_else(nothing)
    steps = metric.steps.or_else(nothing)
    return [
        Sample(*numbers)
        for numbers in zip(
            times or nothing, steps or nothing, values or nothing, strict=False
        )
    ]


def finite_of(metric: Metric) -> list[float]:
    """Return its finite values in the order of the log."""
    return [value for value in metric.values.or_else(()) if value is not None]


def series_of(metrics: Metrics, names: Iterable[str]) -> list[Metric]:
    """Return the series of these metrics; raises MissingEvidence if none were read."""
    wanted = frozenset(names)
    return [metric for metric in metrics.each() if metric.metric.value in wanted]


def names_in(metrics: Metrics) -> frozenset[str]:
    """Return the metrics that have a finite value somewhere."""
    result = (metric.metric.value for metric in metrics.each() if finite_of(metric))
    return frozenset(text for text in result if text is not None)


def meanings_of(metric: Metric, dictionary: MetricDictionary) -> list[MetricEntry]:
    """Return what a series may be: one metric, or all that its name may mean.

    Raises MissingEvidence where neither is told.
    """
    text = metric.metric.value
    names = metric.candidates.need() if text is None else (text,)
    result = (dictionary.entry(name) for name in names)
    return [metric_entry for metric_entry in result if metric_entry is not None]


def title_of(metric: Metric) -> str:
    """Return what messages call a series: `gpu.power of n1, GPU 3`."""
    name = metric.metric.or_else("") or metric.written.or_else("a series")
    labels = (
        ("", metric.node.value),
        ("", metric.device.value),
        ("GPU ", metric.gpu.value),
        ("rank ", metric.rank.value),
    )
    texts = [f"{word}{label}" for word, label in labels if label is not None]
    return f"{name} of {', '.join(texts)}" if texts else name


def events_of(events: RunEvents, *names: str) -> list[RunEvent]:
    """Return those of these kinds, in the order of the logs."""
    return [run_event for run_event in events.shown if run_event.event.value in names]


def windows_of(events: RunEvents) -> list[tuple[float, float]]:
    """Return when a run did not train, by its events; a stretch without end is none."""
    return sorted(_windows(events))


def _windows(events: RunEvents) -> Iterator[tuple[float, float]]:
    timed = sorted(
        (
            (run_event.time.value, run_event)
            for run_event in events.shown
            if run_event.time.value is not None
        ),
        key=lambda pair: pair[0],
    )
    for opening, closing in _STRETCHES:
        opened: float | None = None
        for time, run_event in timed:
            if run_event.event.value in opening:
                opened = time if opened is None else opened
            elif run_event.event.value == closing and opened is not None:
                yield opened, time
                opened = None
    for time, run_event in timed:
        if run_event.event.value == _SAVED and run_event.seconds.value is not None:
            yield time - run_event.seconds.value, time
