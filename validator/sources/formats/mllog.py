"""Logs of MLPerf: lines `:::MLLOG {...}`, also among what others print.

    :::MLLOG {"namespace": "", "time_ms": 1745747629988, "event_type": "POINT_IN_TIME",
     "key": "train_loss", "value": 2.31, "metadata": {"samples_count": 896}}

Ends of intervals are events; points in time that the dictionary knows, and others once
the run has started, are metrics; those before are settings. Submissions count samples
where others count steps: with the batch size that the log tells they become steps.
Source: mlcommons/logging mlperf_logging/mllog/constants.py, training results v5.0.
"""

import json
from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.capture import Capture, Scalar
from speccheck.validator.sources.formats import _run_log as keys
from speccheck.validator.sources.formats._printed import lines_of, printed_reader
from speccheck.validator.sources.formats._run_log import (
    NO_LABELS,
    LoggedEvent,
    RunLogText,
    moment_of,
)

FORMAT = "mllog"
_MARK = ":::MLLOG"
_LINE = lazy_pattern(r":::MLLOG:?\s+(?=\{)")
_LABEL = lazy_pattern(r"\[?(\d{1,7})\]?:?")
_STATS = "tracked_stats"
_START = "run_start"
_BATCH = "global_batch_size"
_BENCHMARK = "submission_benchmark"
_POINT = "POINT_IN_TIME"
_TYPES = frozenset({_POINT, "INTERVAL_START", "INTERVAL_END"})
_LEARNING_RATE = "lr"
Json = Mapping[str, object]
_decode = json.JSONDecoder().raw_decode


class _Entry(Record):
    """One line of the log.

    Attributes:
        stated: steps or samples, as its metadata say.
    """

    line: int
    rank: int | None
    kind: str
    key: str
    value: object
    metadata: Json
    time: object
    stated: int | None
    is_of_samples: bool


def _detect(text: str) -> float:
    return 1.0 if _LINE.search(text) else 0.0


def put(capture: Capture, text: str) -> None:
    """Put down the entries of a log."""
    log = RunLogText(FORMAT, capture.name)
    entries = [*_entries(text, log)]
    batch = _batch(entries)
    in_samples = _counts_samples(entries, batch)
    has_started = False
    for entry in entries:
        has_started = has_started or entry.key == _START
        step = _step(entry, batch, in_samples=in_samples)
        if entry.key == _BENCHMARK:
            log.run = keys.text(entry.value)
        elif entry.kind != _POINT:
            _put_event(log, entry, step)
        else:
            _put_point(log, entry, step, has_started=has_started)
    log.put(capture)


def _entries(text: str, log: RunLogText) -> Iterator[_Entry]:
    """Return the entries; what the shell repeats before it runs a command is none."""
    for line in lines_of(text):
        if _MARK not in line.whole or line.text.startswith("+"):
            continue
        log.lines += 1
        entry = _entry(line.number, line.text, line.label)
        if entry is None:
            log.unread += 1
            log.is_cut = line.is_cut
        else:
            yield entry


def _entry(number: int, text: str, label: str) -> _Entry | None:
    mark = _LINE.search(text)
    if mark is None:
        return None
    try:
        result, _ = _decode(text, mark.end())
    except (ValueError, RecursionError):
        return None
    if not isinstance(result, dict):
        return None
    kind, key = result.get("event_type"), result.get("key")
    if kind not in _TYPES or not isinstance(key, str):
        return None
    stated = result.get("metadata")
    metadata: Json = stated if isinstance(stated, dict) else {}
    rank = _LABEL.fullmatch(label)
    samples = keys.whole(metadata.get("samples_count"))
    step = keys.whole(keys.first(metadata, ("step", "step_num")))
    return _Entry(
        number,
        int(rank[1]) if rank else None,
        kind,
        key,
        result.get("value"),
        metadata,
        result.get("time_ms"),
        step if samples is None else samples,
        samples is not None,
    )


def _batch(entries: list[_Entry]) -> int | None:
    """Return the global batch, where the log tells one and the same."""
    stated = {keys.whole(entry.value) for entry in entries if entry.key == _BATCH}
    return stated.pop() if len(stated) == 1 else None


def _counts_samples(entries: list[_Entry], batch: int | None) -> bool | None:
    """Return whether `step` counts samples: more steps than samples allow.

    None if unsure.
    """
    steps = [
        entry.stated for entry in entries if entry.stated and not entry.is_of_samples
    ]
    samples = [
        entry.stated for entry in entries if entry.stated and entry.is_of_samples
    ]
    if not steps or not batch or batch == 1:
        return False
    if not samples:
        return None if all(step % batch == 0 for step in steps) else False
    return max(steps) > max(samples) / batch + 1


def _step(entry: _Entry, batch: int | None, *, in_samples: bool | None) -> int | None:
    if entry.stated is None:
        return None
    if not entry.is_of_samples and in_samples is False:
        return entry.stated
    if not batch or (not entry.is_of_samples and in_samples is None):
        return None
    return entry.stated // batch


def _put_event(log: RunLogText, entry: _Entry, step: int | None) -> None:
    moment = log.clock.note(moment_of(entry.time))
    leaves: dict[str, Scalar] = {}
    status = keys.text(entry.metadata.get("status"))
    if status:
        leaves["status"] = status
    if entry.rank is not None:
        leaves["rank"] = entry.rank
    log.events.append(LoggedEvent(entry.key, entry.line, moment, step, leaves))


def _put_point(
    log: RunLogText, entry: _Entry, step: int | None, *, has_started: bool
) -> None:
    """Put a number, or several of one moment."""
    moment = log.clock.note(moment_of(entry.time))
    for name, value in _numbers(entry):
        if not has_started and name not in log.names.aliases:
            continue  # a setting
        at = step
        last = log.last_step(name, NO_LABELS)
        if name.startswith(_STATS) and at is not None and last is not None:
            # The mean of a block names the step at which that began.
            at = None if at < last else at
        log.point(name, NO_LABELS, value, moment, at, entry.line)


def _numbers(entry: _Entry) -> Iterator[tuple[str, float]]:
    value = keys.number(entry.value)
    if value is not None:
        yield entry.key, value
    elif isinstance(entry.value, dict):
        for name, item in entry.value.items():
            number = keys.number(item)
            if number is not None:
                yield f"{entry.key}.{name}", number
    rate = keys.number(entry.metadata.get(_LEARNING_RATE))
    if rate is not None:
        yield f"{entry.key}.{_LEARNING_RATE}", rate


READER = printed_reader(FORMAT, FORMAT, _detect)
