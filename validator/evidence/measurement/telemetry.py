"""What the log of a run tells over time: series of metrics, and events.

A log is what a training framework, an exporter or a monitor writes while a job runs.
Names and units are those of the metric dictionary (schemas/catalogues/metrics); the
name as it stands in the log is kept beside. Times are seconds since 1970, UTC.
"""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


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
