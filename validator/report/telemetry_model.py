"""The shape of `speccheck-telemetry/1`, for its JSON Schema and for whoever reads one.

Nothing that runs imports this module: telemetry_json.py writes plain data, and a test
holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import (
    EditionName,
    Profile,
    ReportFinding,
    SecondEditionName,
    SettingsFiles,
    Tool,
    Totals,
)

_Number = int | float


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TelemetryFile(_Part):
    """One file of the run and what it was taken for."""

    path: str
    format: str | None
    status: str
    message: str | None


class TelemetryLog(_Part):
    """One log; lines: that are, or should be, records of it.

    clock: local where no zone is told. is_complete: null where it tells of no beginning
    and of no end. Times are seconds since 1970, UTC.
    """

    file: str
    dialect: str
    lines: int
    unread_lines: int
    run: str
    edition: str
    clock: Literal["utc", "local", "none"]
    is_complete: bool | None
    first_seconds: _Number | None
    last_seconds: _Number | None


class TelemetryMetric(_Part):
    """All series of one metric, or of one name that has no one meaning.

    metric: its id in the dictionary; empty for another name. candidates: what such a
    name may mean. interval_*: between points, outside of evaluations and saves that
    events declare. required_*: of the dictionary, whichever is longer in time.
    """

    metric: str
    written: list[str]
    candidates: list[str]
    unit: str
    series: int
    nodes: int
    points: int
    not_finite: int
    interval_median: _Number | None
    interval_p99: _Number | None
    interval_steps: int | None
    required_seconds: _Number | None
    required_steps: int | None
    last_least: _Number | None
    last_most: _Number | None


class TelemetryEvent(_Part):
    """All events of one kind; event: its id, empty for one that nobody tabulates."""

    event: str
    written: str
    times: int
    statuses: list[str]
    first_seconds: _Number | None
    last_seconds: _Number | None


class TelemetryDrill(_Part):
    """One drill; begins: the event from which seconds count until run.resumed."""

    drill: str
    begins: str
    seconds: _Number | None


class TelemetryCore(_Part):
    """A metric that every run should log; stood_in: metrics in its place."""

    metric: str
    is_there: bool
    stood_in: list[str]


class TelemetryOfPlan(_Part):
    """What the logs of one job hold."""

    logs: list[TelemetryLog]
    metrics: list[TelemetryMetric]
    other_names: list[TelemetryMetric]
    events: list[TelemetryEvent]
    drills: list[TelemetryDrill]
    core_metrics: list[TelemetryCore]


class TelemetryDocument(_Part):
    """The logs of a run, and what is judged of them."""

    schema_name: Literal["speccheck-telemetry/1"] = Field(alias="schema")
    tool: Tool
    edition: EditionName | None
    second_edition: SecondEditionName | None
    profile: Profile | None
    settings: SettingsFiles
    warnings: list[str]
    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int
    summary: Totals
    errors: list[str]
    files: list[TelemetryFile]
    telemetry: list[TelemetryOfPlan]
    findings: list[ReportFinding]
