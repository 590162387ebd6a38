"""`speccheck telemetry LOG...`: what a run logged, and whether that is what it must."""

import os

from speccheck.validator.cli.command_line import (
    CommandLine,
    UsageError,
    with_settings,
)
from speccheck.validator.cli.option_table import FAIL_ON
from speccheck.validator.cli.reports import Forms, outputs_of, write_forms
from speccheck.validator.cli.request import USES, request_of
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.telemetry_json import telemetry_json
from speccheck.validator.report.telemetry_text import telemetry_of
from speccheck.validator.report.text import report
from speccheck.validator.report.verdict import exit_of
from speccheck.validator.run.run import RunResult, run
from speccheck.validator.sources.context import context_facts


def telemetry(line: CommandLine) -> int:
    """Judge logs; returns the exit code."""
    logs = line.files
    if not logs:
        message = "no log given: speccheck telemetry LOG ..."
        raise UsageError(message)
    _demand_files(logs)
    line = line._replace(files=(*logs, *line.texts("job")))
    outputs = outputs_of(line)
    fail_on = line.word("fail_on", FAIL_ON)
    use = line.word("use", USES)
    line = with_settings(line)
    request = request_of(line, use)
    context_facts(request.judging.context)  # refuses unknown names before any work
    result = run(request)
    _demand_logs(result, logs)
    summary = summarize(result.plans)
    report_context = ReportContext(
        result,
        summary,
        exit_of(result, summary, fail_on),
        full=line.has("full"),
        fail_on=fail_on,
    )
    forms: Forms = {
        "text": lambda style: report(report_context, style),
        "json": lambda _: telemetry_json(report_context),
    }
    write_forms(line, outputs, forms)
    return report_context.ending.code


def _demand_files(logs: tuple[str, ...]) -> None:
    """Raise UsageError for a folder: in one nobody knows which files are logs."""
    for log in logs:
        if os.path.isdir(log):
            message = f"{log}: a folder; name its logs: speccheck telemetry {log}/*"
            raise UsageError(message)


def _demand_logs(result: RunResult, logs: tuple[str, ...]) -> None:
    """Raise UsageError for a file that can be read and is no log of a run."""
    known = {
        log.file
        for measured_telemetry in telemetry_of(result)
        for log in measured_telemetry.logs
    }
    named = {os.path.normpath(log) for log in logs if log != "-"}
    for file in result.files:
        if file.state == "judged" and file.path in named and file.path not in known:
            message = (
                f"{file.path}: {file.format}, no log of a run; a file of its job is "
                f"given with --job {file.path}"
            )
            raise UsageError(message)
