"""Series of a run as samples, and the stretches of time in which a run does not train.

An evaluation, a save that blocks and a recovery are declared by events; series of the
training loop have no samples then, and nobody is to blame.
"""

from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.measurement.metric_dictionary import (
    MetricDictionary,
    MetricEntry,
)
from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    RunEvent,
    RunEvents,
)
from speccheck.validator.evidence.record import Record

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
    """All samples in the order of the log; raises MissingEvidence without any list."""
    values = metric.values.need()
    nothing = (None,) * len(values)
    times = metric.times.or_else(nothing)
    steps = metric.steps.or_else(nothing)
    return [
        Sample(*one)
        for one in zip(
            times or nothing, steps or nothing, values or nothing, strict=False
        )
    ]


def finite_of(metric: Metric) -> list[float]:
    """Its finite values in the order of the log."""
    return [one for one in metric.values.or_else(()) if one is not None]


def series_of(metrics: Metrics, names: Iterable[str]) -> list[Metric]:
    """The series of these metrics; raises MissingEvidence where none were read."""
    wanted = frozenset(names)
    return [one for one in metrics.each() if one.metric.value in wanted]


def names_in(metrics: Metrics) -> frozenset[str]:
    """The metrics that have a finite value somewhere."""
    found = (one.metric.value for one in metrics.each() if finite_of(one))
    return frozenset(one for one in found if one is not None)


def meanings_of(metric: Metric, dictionary: MetricDictionary) -> list[MetricEntry]:
    """What a series may be: one metric, or all that its name may mean."""
    told = metric.metric.value
    names = metric.candidates.or_else(()) if told is None else (told,)
    found = (dictionary.entry(name) for name in names)
    return [one for one in found if one is not None]


def title_of(metric: Metric) -> str:
    """What messages call a series: `gpu.power of n1, GPU 3`."""
    name = metric.metric.or_else("") or metric.written.or_else("a series")
    labels = (
        ("", metric.node.value),
        ("", metric.device.value),
        ("GPU ", metric.gpu.value),
        ("rank ", metric.rank.value),
    )
    told = [f"{word}{label}" for word, label in labels if label is not None]
    return f"{name} of {', '.join(told)}" if told else name


def events_of(events: RunEvents, *names: str) -> list[RunEvent]:
    """Those of these kinds, in the order of the logs."""
    return [one for one in events.shown if one.event.value in names]


def windows_of(events: RunEvents) -> list[tuple[float, float]]:
    """When a run did not train, as its events tell; a stretch without end is none."""
    return sorted(_windows(events))


def _windows(events: RunEvents) -> Iterator[tuple[float, float]]:
    timed = sorted(
        ((one.time.value, one) for one in events.shown if one.time.value is not None),
        key=lambda pair: pair[0],
    )
    for opening, closing in _STRETCHES:
        opened: float | None = None
        for time, one in timed:
            if one.event.value in opening:
                opened = time if opened is None else opened
            elif one.event.value == closing and opened is not None:
                yield opened, time
                opened = None
    for time, one in timed:
        if one.event.value == _SAVED and one.seconds.value is not None:
            yield time - one.seconds.value, time
