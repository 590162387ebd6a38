"""Run logs as tables: a line of names, then a line for each step or moment.

    step,time,train.loss,grad_norm
    timestamp, index, utilization.gpu [%], memory.used [MiB]
    Wall time,Step,Value

The second is what nvidia-smi prints with --format=csv, the third what TensorBoard
exports: the name of its series stands in that of the file. A column `event` makes a
line an event; `metric` (or `name`) and `value` give one number a line.
"""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO

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

FORMAT = "run-log-csv"
_DIALECT = "csv"
_SEPARATORS = (",", "\t", ";")
_LEAST_COLUMNS = 2
_MOST_COLUMNS = 5000
_LONGEST_FIELD = 10_000
_TENSORBOARD = ("Wall time", "Step", "Value")
_SMI_INDEX = "index"  # of the GPU, as nvidia-smi calls it
_IN_BRACKETS = lazy_pattern(r"(.{1,200}?)\s*\[([^\[\]]{1,20})\]")
_NUMBER = lazy_pattern(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WITH_UNIT = lazy_pattern(r"([-+]?\d+(?:\.\d+)?)\s*(%|[A-Za-z/]{1,8})")
_PLACED = frozenset({*keys.TIMES, *keys.STEPS})
_KNOWN, _UNKNOWN = 0.9, 0.6


def _head(text: str) -> tuple[str, list[str]] | None:
    """Return the separator and the names of a table; None where it is none."""
    first, _, rest = text.lstrip("\n").partition("\n")
    second = rest.partition("\n")[0]
    for separator in _SEPARATORS:
        names = [part.strip().strip('"') for part in first.split(separator)]
        if not _LEAST_COLUMNS <= len(names) <= _MOST_COLUMNS:
            continue
        is_of_names = not any(_NUMBER.fullmatch(name) for name in names)
        if is_of_names and not _PLACED.isdisjoint(names) and separator in second:
            return separator, names
    return None


def _detect(source: Source) -> float:
    head = _head(source.text)
    if head is None:
        return 0.0
    _, names = head
    log = RunLogText(_DIALECT, source.name)
    others = [name for name in names if name not in keys.KEYS]
    known = [other for other in others if log.names.meaning(_bare(other), _ANY).alias]
    is_event = not {*keys.EVENTS}.isdisjoint(names)
    if known or is_event or {"metric", "value"} <= {*names}:
        return _KNOWN
    has_suffix = source.name.endswith((".csv", ".tsv"))
    return _UNKNOWN if others and has_suffix else 0.0


_ANY: frozenset[str] = frozenset()


def _bare(name: str) -> str:
    match = _IN_BRACKETS.fullmatch(name)
    return match[1] if match else name


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[str] | None]]:
    """Yield each line's fields with its number; None for one that cannot be read."""
    reader = csv.reader(StringIO(text), delimiter=separator, skipinitialspace=True)
    while True:
        try:
            yield reader.line_num + 1, next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield reader.line_num, None


def _read(source: Source) -> Reading:
    capture = Capture(source.name, _DIALECT)
    logged(source, capture)
    return measurement_reading(capture.node(), FactSheet(source.name))


def logged(source: Source, capture: Capture) -> None:
    """Put the series and events of a table."""
    log = RunLogText(_DIALECT, source.name)
    head = _head(source.text)
    separator, names = head or (",", [])
    columns = [_column(name) for name in names]
    if tuple(names) == _TENSORBOARD:
        columns[-1] = _series_of_file(source.name), ""
    is_cut = not source.text.endswith("\n")
    row: list[str] | None = None
    is_head = True
    for number, row in _rows(source.text, separator):
        if row is not None and not any(text.strip() for text in row):
            continue
        if is_head:
            is_head = False
            continue
        log.lines += 1
        if row is None or len(row) != len(names):
            log.unread += 1
            continue
        _put_row(log, columns, row, number)
    log.is_cut = is_cut and row is not None and len(row) != len(names)
    log.put(capture)


def _series_of_file(name: str) -> str:
    """Return the series of a file: `run-a-tag-train_loss.csv` holds train_loss."""
    base = name.rpartition("/")[2].removesuffix(".csv")
    return base.rpartition("-tag-")[2] or base


def _column(name: str) -> tuple[str, str]:
    """Return the name and unit of a column: `memory.used [MiB]`."""
    match = _IN_BRACKETS.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def _put_row(
    log: RunLogText, columns: Sequence[tuple[str, str]], row: Sequence[str], line: int
) -> None:
    record = {
        name: value.strip()
        for (name, _), value in zip(columns, row, strict=True)
        if name in _NAMED
    }
    stated = keys.first(record, keys.TIMES)
    moment = NEVER if stated is None else log.clock.note(moment_of(stated))
    step = _step(keys.first(record, keys.STEPS))
    log.run = log.run or keys.text(keys.first(record, keys.RUNS))
    log.edition = log.edition or keys.text(keys.first(record, keys.EDITIONS))
    written = keys.text(keys.first(record, keys.EVENTS))
    if written:
        leaves = keys.event_leaves(_typed(record))
        log.events.append(LoggedEvent(written, line, moment, step, leaves))
    labels = keys.labels_of(record, keys.whole(record.get(_SMI_INDEX)))
    name = record.get("metric") or record.get("name") or ""
    for (column, unit), field in zip(columns, row, strict=True):
        value, named_unit = _value(field.strip())
        if value is None or column in keys.KEYS or column in keys.IGNORED:
            continue
        if column == _SMI_INDEX or (written and column in keys.EVENT_KEYS):
            continue
        own = unit or named_unit
        of = labels._replace(unit=own) if own else labels
        written_name = name if column == "value" and name else column
        log.point(written_name, of, value, moment, step, line)


_NAMED = keys.KEYS | keys.EVENT_KEYS | {_SMI_INDEX, "metric", "name"}


def _step(stated: object) -> int | None:
    value, _ = _value(stated) if isinstance(stated, str) else (None, "")
    return keys.whole(value)


def _typed(record: dict[str, str]) -> dict[str, object]:
    """Return the fields of an event, numbers as numbers."""
    return {
        key: number if (number := _value(stated)[0]) is not None else stated
        for key, stated in record.items()
    }


def _value(field: str) -> tuple[float | None, str]:
    """Return the number of a field, and the unit behind it."""
    if len(field) > _LONGEST_FIELD:
        return None, ""
    if _NUMBER.fullmatch(field):
        return float(field), ""
    match = _WITH_UNIT.fullmatch(field)
    if match:
        return float(match[1]), match[2]
    return keys.number(field), ""


READER = CaptureReader(
    FORMAT, ("step", "Step", "iter", "time", "date"), _detect, _read, role="measurement"
)
