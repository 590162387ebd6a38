"""A change of the global batch that no event of the log explains.

Why it hurts: the loss jumps where the batch changes. Without the event the jump cannot
be told from a fault of the data or of the hardware.

What passes: each change of train.global_batch with an event run.batch_size_change that
gives step, old value, new value and reason; and a batch that stays as it is.

Where it does not apply: a plan that keeps the batch fixed, where no log speaks of it.

Source: claims S0#7, S2#38; the fields of the event are an engineering default.

Bad::

    step 1000: global batch 1024; step 1010: global batch 2048

Good::

    run.batch_size_change, step 1005, 1024 to 2048, reason: ramp-up
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    RunEvent,
    RunEvents,
    Sample,
    events_of,
    samples_of,
    series_of,
)
from speccheck.validator.evidence.plan import Batch
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Fields(Numbers):
    """The fields that an event of a batch change must have."""

    event_fields: tuple[str, ...]


@rule(clause="BATCH-005")
def batch_change_not_logged(
    metrics: Metrics, events: RunEvents, batch: Batch, limit: Fields
) -> Verdicts:
    """Judge the events, then each change of the series."""
    run_events = events_of(events, "run.batch_size_change")
    bare = False
    for event in run_events:
        lacking = [
            event_field
            for event_field in limit.event_fields
            if not _leaf(event, event_field).is_known
        ]
        if lacking:
            bare = True
            yield fail(
                f"run.batch_size_change has no {', '.join(lacking)}; it must give "
                f"{', '.join(limit.event_fields)}",
                at=event.event,
                measured=f"no {', '.join(lacking)}",
                required=", ".join(limit.event_fields),
            )
    if not metrics.count.is_known and batch.mode.value == "fixed":
        return
    series = series_of(metrics, ["train.global_batch"])
    changes = [(metric, *pair) for metric in series for pair in _changes(metric)]
    silent = [
        row for row in changes if not any(_explains(e, *row[1:]) for e in run_events)
    ]
    for metric, before, after in silent[:1]:
        more = f", and {len(silent) - 1} more changes" if silent[1:] else ""
        yield fail(
            f"the global batch changes from {before.value:,.0f} to {after.value:,.0f} "
            f"at {_when(after)} without an event run.batch_size_change{more}",
            at=metric.values,
            measured=len(silent),
            required=0,
            cost="a jump of the loss cannot be told from a fault",
        )
    if silent or bare:
        return
    if any(len(samples_of(metric)) > 1 for metric in series):
        yield passed(at=[metric.values for metric in series], measured=len(changes))
    elif batch.mode.value != "fixed":
        yield unknown(
            "no log holds the global batch over time",
            missing=["train.global_batch"],
            at=metrics.count,
        )


def _leaf(event: RunEvent, field: str) -> Value[Any]:
    leaf: Value[Any] = getattr(event, field)
    return leaf


def _changes(series: Metric) -> Iterator[tuple[Sample, Sample]]:
    known = [sample for sample in samples_of(series) if sample.value is not None]
    return ((a, b) for a, b in pairwise(known) if a.value != b.value)


def _explains(event: RunEvent, before: Sample, after: Sample) -> bool:
    """Return whether an event states this change, at a step or time between both."""
    values = event.old_value.value, event.new_value.value
    if any(v is not None for v in values) and values != (before.value, after.value):
        return False
    numbers: tuple[float | None, ...] = (before.step, event.step.value, after.step)
    if None in numbers:
        numbers = before.time, event.time.value, after.time
    known = [value for value in numbers if value is not None]
    if len(known) < len(numbers):
        return values == (before.value, after.value)
    return known == sorted(known)


def _when(sample: Sample) -> str:
    return f"step {sample.step:,}" if sample.step is not None else "some time"
