"""`speccheck telemetry LOG...`: what a run logged, and whether that is what it must."""

import os

from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import FAIL_ON, OF_JUDGING, Kind, Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import (
    REFUSALS,
    USES,
    list_of,
    one_of,
    outputs_of,
    request_of,
    style_of,
)
from speccheck.validator.cli.settled import with_settings
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import exit_of, summarize
from speccheck.validator.report.telemetry_text import telemetry_of
from speccheck.validator.report.write import write_all
from speccheck.validator.run.run import Run, run
from speccheck.validator.sources.context import context_facts

FORMATS = ("text", "json")
_GROUP = "Logs"
# Of judging, what concerns logs: no pictures, no forms of reports of configurations.
_SHARED = frozenset(
    {
        *("--nodes", "--gpus-per-node", "--gpu", "--instance", "--fabric", "--role"),
        *("--step-seconds", "--spec", "--select", "--ignore", "--settings"),
        *("--isolated", "--waivers", "--baseline", "--full", "--fail-on", "--color"),
    }
)


def _option(
    flag: str, text: str, metavar: str, kind: Kind = "text", *, several: bool = False
) -> Option:
    return Option(flag, text, kind, metavar, repeatable=several, group=_GROUP)


_OF_SETTINGS = tuple(one for one in OF_JUDGING if one.flag in _SHARED)
OPTIONS: tuple[Option, ...] = (
    _option("--job", "a configuration or script of the job", "FILE", several=True),
    _option("--use", "ci (default), preflight or certify", "USE"),
    _option("--output", "text or json", "FORMAT[=FILE]", several=True),
    *_OF_SETTINGS,
)
HELP = f"""\
usage: speccheck telemetry LOG ... [options]

Says what the logs of a run hold - metrics of the dictionary with their intervals, core
metrics that are missing, events - and judges them: as one job together, with its files
where --job names them. Reads JSON lines, CSV (also of nvidia-smi and TensorBoard),
MLPerf's :::MLLOG lines and the text format of Prometheus. `speccheck LOG` gives the
same findings.

Exit codes: 0 every must that was judged holds; 1 findings at or above --fail-on; 2 the
command line or a file is wrong, or is no log; 3 evidence is missing; 4 a bug of
speccheck.
{options_help(OPTIONS)}
"""


def telemetry(words: list[str]) -> int:
    """Judge logs; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write_all([((HELP,), None)])
        return 0
    return guarded(lambda: _telemetry(parse(words, OPTIONS)), REFUSALS)


def _telemetry(parsed: Parsed) -> int:
    logs = parsed.files
    if not logs:
        message = "no log given: speccheck telemetry LOG ..."
        raise UsageError(message)
    _demand_files(logs)
    parsed = parsed._replace(files=(*logs, *list_of(parsed, "job")))
    outputs = outputs_of(parsed, FORMATS)
    fail_on = one_of(parsed, "fail_on", FAIL_ON)
    use = one_of(parsed, "use", USES)
    parsed = with_settings(parsed, _OF_SETTINGS)
    request = request_of(parsed, use)
    context_facts(request.context)  # refuses unknown names before any work
    found = run(request)
    _demand_logs(found, logs)
    summary = summarize(found.plans)
    told = ReportContext(
        found,
        summary,
        exit_of(found, summary, fail_on),
        full="full" in parsed.values,
        fail_on=fail_on,
    )
    reports = []
    for output in outputs:
        style = style_of(parsed, to_file=output.path is not None)
        reports.append(((_report(told, output.format, style),), output.path))
    write_all(reports)
    return told.ending.code


def _report(context: ReportContext, form: str, style: Style) -> str:
    if form == "json":
        from speccheck.validator.report.telemetry_json import (  # noqa: PLC0415 - of two
            telemetry_json,
        )

        return telemetry_json(context)
    from speccheck.validator.report.text import report  # noqa: PLC0415 - of two

    return "".join(report(context, style))


def _demand_files(logs: tuple[str, ...]) -> None:
    """Raise UsageError for a folder: in one nobody knows which files are logs."""
    for log in logs:
        if os.path.isdir(log):
            message = f"{log}: a folder; name its logs: speccheck telemetry {log}/*"
            raise UsageError(message)


def _demand_logs(found: Run, logs: tuple[str, ...]) -> None:
    """Raise UsageError for a file that can be read and is no log of a run."""
    known = {log.file for one in telemetry_of(found) for log in one.logs}
    named = {os.path.normpath(one) for one in logs if one != "-"}
    for file in found.files:
        if file.state == "judged" and file.path in named and file.path not in known:
            message = (
                f"{file.path}: {file.format}, no log of a run; a file of its job is "
                f"given with --job {file.path}"
            )
            raise UsageError(message)
