"""Run logs of one JSON object a line: metrics of a step or a moment, and events.

    {"time": "2026-05-04T10:00:00Z", "step": 10, "rank": 0, "train.loss": 2.31}
    {"time": 1777888800, "name": "gpu.power", "value": 691, "unit": "W", "gpu": 3}
    {"time": 1777888807.5, "event": "run.oom", "rank": 12, "size_bytes": 8388608}
    {"time": "2021-12-06 04:19:35", "gpu_usage:0": 56, "gpu_usage:1": 56}

The last is the form of the monitor of SuperBench. Tables within a record are read as
`table.key`; texts and lists are no metrics. Sources: microsoft/superbenchmark
superbench/monitor/record.py; wandb (`_step`, `_timestamp`).
"""

import json
from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import Capture, measurement_reading
from speccheck.validator.sources.formats import _run_log as keys
from speccheck.validator.sources.formats._run_log import (
    NEVER,
    LoggedEvent,
    RunLogText,
    moment_of,
)
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

FORMAT = "run-log-jsonl"
_DIALECT = "jsonl"
_SUFFIXES = (".jsonl", ".ndjson", "stdin")
_LOOKED_AT = 200  # lines that say what a file is
_LEAST_SHARE = 0.8  # of these that are records
_KNOWN, _UNKNOWN = 0.9, 0.6
_NUMBERED = lazy_pattern(r"(.{1,200}):(\d{1,4})")
_MOST_DEPTH = 4
# Tables that only gather what the record is about.
_PLAIN_TABLES = frozenset({"metrics", "values", "data", "gauges", "stats"})
Json = Mapping[str, object]


class _TwiceError(ValueError):
    """A key stands twice in an object: nobody knows which is meant."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _TwiceError
    return made


_decode = json.JSONDecoder(object_pairs_hook=_object).decode


def _record(line: str) -> Json | None:
    """Return the object of a line; None for a line that is none."""
    try:
        result = _decode(line)
    except (ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) else None


def _detect(source: Source) -> float:
    records: list[Json] = []
    others = 0
    for line in _lines(source.text):
        record = _record(line) if line[0] == "{" else None
        if record is None:
            others += 1
        else:
            records.append(record)
        if len(records) + others >= _LOOKED_AT:
            break
    if not records or len(records) < _LEAST_SHARE * (len(records) + others - 1):
        return 0.0
    if any("schema" in record for record in records):
        return 0.0  # a format of its own, such as results of nodes
    log = RunLogText(_DIALECT, source.name)
    for record in records:
        _put_record(log, record, 1)
    stated = {name for record in records for name, _ in _numbers(record)}
    if not log.has_content or not any(_is_placed(record) for record in records):
        return 0.0
    is_known = any(log.names.meaning(_bare(text), _ANY).alias for text in stated)
    is_known |= any(log.names.event_id(event.written) for event in log.events)
    if is_known or "metric" in records[0]:
        return _KNOWN
    return _UNKNOWN if source.name.endswith(_SUFFIXES) else 0.0


_ANY: frozenset[str] = frozenset()


def _bare(name: str) -> str:
    match = _NUMBERED.fullmatch(name)
    return match[1] if match else name


def _is_placed(record: Json) -> bool:
    """Return whether it says when, or at which step."""
    has_time = moment_of(keys.first(record, keys.TIMES)).seconds is not None
    return has_time or keys.whole(keys.first(record, keys.STEPS)) is not None


def _lines(text: str) -> Iterator[str]:
    return (line for part in text.split("\n") if (line := part.strip()))


def _read(source: Source) -> Reading:
    log = RunLogText(_DIALECT, source.name)
    text = source.text
    for number, whole_line in enumerate(text.split("\n"), 1):
        line = whole_line.strip()
        if not line:
            continue
        log.lines += 1
        record = _record(line)
        if record is None:
            log.unread += 1
            log.is_cut = not text.endswith("\n") and text.endswith(whole_line)
        else:
            _put_record(log, record, number)
    capture = Capture(source.name, _DIALECT)
    log.put(capture)
    return measurement_reading(capture.node(), FactSheet(source.name))


def _put_record(log: RunLogText, record: Json, line: int) -> None:
    """Put the numbers of a record, or the event that it states."""
    stated = keys.first(record, keys.TIMES)
    moment = NEVER if stated is None else log.clock.note(moment_of(stated))
    step = keys.whole(keys.first(record, keys.STEPS))
    log.run = log.run or keys.text(keys.first(record, keys.RUNS))
    log.edition = log.edition or keys.text(keys.first(record, keys.EDITIONS))
    written = keys.text(keys.first(record, keys.EVENTS))
    if not written and record.get("type") == "event":
        written = keys.text(record.get("name"))
    numbers = [*_numbers(record)]
    if written:
        known = log.names.event_id(written)
        others = [number for number in numbers if number[0] not in keys.EVENT_KEYS]
        if known is not None or not others:
            leaves = keys.event_leaves(record)
            log.events.append(LoggedEvent(written, line, moment, step, leaves))
        numbers = others
    if not numbers:
        return
    labels = keys.labels_of(record)
    name = keys.text(record.get("metric") or record.get("name") or record.get("key"))
    if name and any(key == "value" for key, _ in numbers):
        numbers = [(name if key == "value" else key, value) for key, value in numbers]
    for key, value in numbers:
        numbered = _NUMBERED.fullmatch(key) if ":" in key else None
        if numbered is None:
            log.point(key, labels, value, moment, step, line)
        else:
            own = labels._replace(gpu=int(numbered[2]))
            log.point(numbered[1], own, value, moment, step, line)


def _numbers(
    record: Json, before: str = "", depth: int = 0
) -> Iterator[tuple[str, float]]:
    """Return the names and numbers that are metrics."""
    for key, item in record.items():
        if not depth and (key in keys.KEYS or key in keys.IGNORED):
            continue
        value = keys.number(item)
        if value is not None:
            yield before + key, value
        elif isinstance(item, dict) and depth < _MOST_DEPTH:
            inner = before if key in _PLAIN_TABLES else f"{before}{key}."
            if key not in keys.IGNORED:
                yield from _numbers(item, inner, depth + 1)


READER = CaptureReader(FORMAT, ('{"', '{ "'), _detect, _read, role="measurement")
