"""Logs that are damaged in any way are read as far as they go, or refused in a line."""

import random
from pathlib import Path

import pytest

from run_logs import EXAMPLES
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.measurement.telemetry import (
    Metrics,
    RunEvents,
    RunLogs,
)
from speccheck.validator.measurements.telemetry import measured_telemetry
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.registry import Readers

TABLE = "step,time,rank,loss,event\n10,2026-05-04T08:00:00Z,0,2.5,\n" * 3
PIECES = (
    *('"', "\\", "{", "}", "[", ",", ":", "\n", "\r", "\t", "\x1b[2J", "\u2028"),
    *("NaN", "-Infinity", "1e999", "9" * 400, "null", "true", "é", "\x85", ":::MLLOG "),
    *("# TYPE a gauge\n", '"time": 1e30', '"step": -1', '"gpu": 1e300', "0: ", "+ "),
)
FORMATS = {
    "run-log-jsonl": "troubled.jsonl",
    "run-log-csv": "",
    "mllog": "mlperf.log",
    "prometheus": "healthy.prom",
}


def damaged(text: str, chance: random.Random) -> str:
    """Return the text with some pieces cut out, moved or put in."""
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(3)
        if kind == 0:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + chance.randrange(40) :]
        else:
            end = at + chance.randrange(60)
            text = text[:at] + text[at:end] * 2 + text[end:]
    return text


@pytest.mark.parametrize("format_id", FORMATS)
def test_a_damaged_log_is_read_as_far_as_it_goes(format_id: str) -> None:
    name = FORMATS[format_id]
    text = (EXAMPLES / name).read_text("utf-8")[:6000] if name else TABLE
    reader = Readers().find(format_id)
    assert reader is not None
    for seed in range(100):
        chance = random.Random(seed)  # noqa: S311 - damage, no secret
        source = Source(name or "x.csv", damaged(text, chance))
        reader.detect(source)  # type: ignore[arg-type]
        try:
            reading = reader.read(source)  # type: ignore[arg-type]
        except ReadError:
            continue  # refused, in a line
        node = reading.node
        assert node is not None
        parts = RunLogs, Metrics, RunEvents
        result = measured_telemetry(
            Evidence({part: node.several(part) for part in parts})
        )
        assert result is not None
        (log,) = result.logs
        assert 0 <= log.unread_lines <= log.lines, seed
        for series in node.several(Metrics).shown:
            lists = series.values.need(), series.times.need(), series.steps.need()
            assert len({*map(len, lists)}) == 1, seed
            assert series.not_finite.need() <= lists[0].count(None)
        for event in node.several(RunEvents).shown:
            assert event.written.is_known


@pytest.mark.slow
def test_too_many_series_are_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    record = ", ".join(f'"m{item}": 1' for item in range(2000))
    text = "".join(f'{{"step": 1, "rank": {item}, {record}}}\n' for item in range(51))
    reader = Readers().find("run-log-jsonl")
    assert reader is not None
    with pytest.raises(ReadError) as caught:
        reader.read(Source(str(path), text))  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"{path}:51:1: more than 100,000 series; split the log by nodes, or leave out "
        "metrics of programs"
    )
