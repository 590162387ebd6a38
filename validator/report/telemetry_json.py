"""What the logs of a run hold and what is judged of it, `speccheck-telemetry/1`."""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.measurements.telemetry import (
    DrillSummary,
    EventSummary,
    LogSummary,
    MetricSummary,
)
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.json_report import (
    EditionName,
    Profile,
    ReportFinding,
    SecondEditionName,
    SettingsFiles,
    Totals,
    finding_data,
    is_listed,
    verdict_data,
)
from speccheck.validator.report.serialise import Tool, alike, data, document_text
from speccheck.validator.report.telemetry_text import (
    CoreMetric,
    core_metrics,
    telemetry_of,
)


class TelemetryFile(Record):
    """One file of the run and what it was taken for."""

    path: str
    format: str | None
    status: str
    message: str | None


class TelemetryOfPlan(Record):
    """What the logs of one job hold."""

    logs: tuple[LogSummary, ...]
    metrics: tuple[MetricSummary, ...]
    other_names: tuple[MetricSummary, ...]
    events: tuple[EventSummary, ...]
    drills: tuple[DrillSummary, ...]
    core_metrics: tuple[CoreMetric, ...]


class TelemetryDocument(Record):
    """The logs of a run, and what is judged of them."""

    schema_name: Literal["speccheck-telemetry/1"]
    tool: Tool
    edition: EditionName | None
    second_edition: SecondEditionName | None
    profile: Profile | None
    settings: SettingsFiles
    warnings: tuple[str, ...]
    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int
    summary: Totals
    errors: tuple[str, ...]
    files: tuple[TelemetryFile, ...]
    telemetry: tuple[TelemetryOfPlan, ...]
    findings: tuple[ReportFinding, ...]


def telemetry_json(report_context: ReportContext) -> str:
    """Return the whole document; `full` adds findings that hold or do not apply."""
    run = report_context.run
    document = alike(
        TelemetryDocument,
        None,
        schema_name="speccheck-telemetry/1",
        **verdict_data(report_context),
        files=[
            TelemetryFile(
                file.path, file.format or None, file.state, file.message or None
            )
            for file in run.files
        ],
        telemetry=[
            alike(
                TelemetryOfPlan,
                None,
                logs=data(telemetry.logs, hidden),
                metrics=data(telemetry.metrics, hidden),
                other_names=data(telemetry.others, hidden),
                events=data(telemetry.events, hidden),
                drills=data(telemetry.drills, hidden),
                core_metrics=core_metrics(run.edition, telemetry),
            )
            for telemetry in telemetry_of(run)
        ],
        findings=[
            {**finding_data(located, run.edition.id), "plan": index}
            for index, plan in enumerate(run.plans)
            for located in plan.findings
            if report_context.full or is_listed(located.finding)
        ],
    )
    return document_text(document, ensure_ascii=False, allow_nan=False)
