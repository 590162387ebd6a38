"""Logs of runs as the tests of telemetry write and read them."""

from pathlib import Path

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    RunEvent,
    RunEvents,
    RunLog,
    RunLogs,
)
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.sources.files import read_file

EXAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "examples" / "run-logs"
DAY = 1_777_881_600.0  # 2026-05-04 08:00:00 UTC


class ReadLog:
    """One log as it was read."""

    def __init__(self, node: Node, format_id: str) -> None:
        self.format = format_id
        self.node = node

    @property
    def log(self) -> RunLog:
        (log,) = self.node.several(RunLogs).shown
        return log

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.node.several(Metrics).shown

    @property
    def events(self) -> tuple[RunEvent, ...]:
        return self.node.several(RunEvents).shown

    def metric(self, metric: str) -> Metric:
        (found,) = [item for item in self.metrics if item.metric.value == metric]
        return found

    def written(self, name: str) -> Metric:
        (found,) = [item for item in self.metrics if item.written.value == name]
        return found


def read_log(text: str, name: str = "run.jsonl") -> ReadLog:
    """Return what the readers make of a text; fails where it is taken for no log."""
    status, files = read_file(name, text=text)
    assert status.state == "judged", status
    (node,) = [
        item.node for file in files for item in file.readings if item.node is not None
    ]
    return ReadLog(node, status.format)


def state_of(text: str, name: str) -> tuple[str, str]:
    """Return what a text is taken for: the state of the file and its format."""
    status, _ = read_file(name, text=text)
    return status.state, status.format
