"""`speccheck FILE...`: parse, run, report."""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from speccheck.validator.cli.command_line import (
    CommandLine,
    UsageError,
    parse,
    with_settings,
)
from speccheck.validator.cli.guarded import BUG, REFUSALS, USAGE, bug_message, passes_on
from speccheck.validator.cli.option_table import FAIL_ON, OPTIONS, Option
from speccheck.validator.cli.reports import (
    Output,
    outputs_in,
    outputs_of,
    picture_of,
    refuse,
    write_reports,
)
from speccheck.validator.cli.request import demands_of, files_request
from speccheck.validator.cli.request import request_of as any_request
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.request import Request
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.form import FORMS
from speccheck.validator.report.style import printable
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.verdict import exit_of
from speccheck.validator.report.write import WriteError, write, write_bytes
from speccheck.validator.run.run import RunResult, read_plans, run
from speccheck.validator.sources.context import context_facts

if TYPE_CHECKING:
    from speccheck.validator.cli.command_table import Command
    from speccheck.validator.cli.fix import Fixed

_WATCH = "--watch"


class Audience:
    """The receiver of a run beside the readers of its reports; here there is none."""

    def reports(self, outputs: list[Output]) -> list[Output]:
        """Return the reports to write, of those that the command line asks for."""
        return outputs

    def remarks(self, run: RunResult) -> tuple[str, ...]:  # noqa: ARG002 - others use it
        """Return what the report says besides, at its end."""
        return ()

    def finish(self, report_context: ReportContext) -> int:
        """Hear what was judged, once the reports are written; returns the exit code."""
        return report_context.ending.code

    def refused(self, message: str, code: int) -> int:  # noqa: ARG002 - others use it
        """Hear why nothing was judged; returns the exit code."""
        return code


_NOBODY = Audience()


def judge_files(words: list[str], command: "Command | None" = None) -> int:  # noqa: ARG001 - that of the table
    """Judge files, once or whenever one changes; returns the exit code."""
    if _WATCH in words:
        return _watched([word for word in words if word != _WATCH])
    return judge(words, OPTIONS, files_request)


def _watched(words: list[str]) -> int:
    if "-" in words:
        return refuse(f"{_WATCH}: standard input cannot be watched", [])
    from speccheck.validator.cli.watch import watch  # noqa: PLC0415 - seldom

    return watch(lambda: judge(words, OPTIONS, files_request))


def judge(
    words: list[str],
    options: tuple[Option, ...],
    request_of: Callable[[CommandLine], Request],
    prepared: Callable[[Request, CommandLine], Request] | None = None,
    audience: Audience = _NOBODY,
) -> int:
    """Judge what a command line asks for; every error is one line on standard error.

    Args:
        words: the command line.
        options: those it may have.
        request_of: what it asks for.
        prepared: the same with what takes time, once the command line is known to be
            right.
        audience: what is called with how it ended.

    Returns:
        The exit code.

    """
    outputs = audience.reports(outputs_in(words))
    try:
        line = parse(words, options)
        outputs = audience.reports(outputs_of(line))
        line = with_settings(line)
        outputs = audience.reports(outputs_of(line))
        shown = _shown_instead(line, request_of)
        if shown is not None:
            return shown
        return _judged(line, outputs, request_of(line), prepared, audience)
    except WriteError as error:
        # None of the files, not even to say so.
        outputs = [output for output in outputs if output.path is None]
        return audience.refused(str(error), refuse(str(error), outputs))
    except REFUSALS as error:
        return audience.refused(str(error), refuse(str(error), outputs))
    except Exception as error:
        if passes_on(error):
            raise
        message = bug_message(error)
        return audience.refused(message, refuse(message, outputs, BUG))


def _shown_instead(
    line: CommandLine, request_of: Callable[[CommandLine], Request]
) -> int | None:
    """Return the exit code where something is shown and nothing judged.

    None elsewhere.
    """
    if line.has("show_settings"):
        return _show_settings(line)
    if line.has("what_if"):
        _send_to_plan()
    return _show_files(request_of(line)) if line.has("show_files") else None


def _judged(
    line: CommandLine,
    outputs: list[Output],
    request: Request,
    prepared: Callable[[Request, CommandLine], Request] | None,
    audience: Audience,
) -> int:
    """Judge and write the reports; returns the exit code."""
    fail_on = line.word("fail_on", FAIL_ON)
    picture = picture_of(line)
    context_facts(request.judging.context)  # refuses unknown names before any work
    demands = demands_of(line, load_edition(request.spec))
    forms = [FORMS[output.format] for output in outputs]
    if any(form.shows_plans for form in forms):
        request = request._replace(full=True, keeps_plans=True)
    if any(form.tells_edits for form in forms):
        request = request._replace(edits=True)
    if prepared is not None:
        request = prepared(request, line)
    result, fixes = run_of(request, line, outputs)
    warn(result.warnings)
    summary = summarize(result.plans)
    ending = exit_of(result, summary, fail_on, demands)
    report_context = ReportContext(
        result,
        summary,
        ending,
        full=line.has("full"),
        statistics=line.has("statistics"),
        fail_on=fail_on,
        skips_unknown=request.skip_unknown,
        with_waived=line.has("sarif_include_waived"),
        remarks=audience.remarks(result),
        quiet=line.has("quiet"),
    )
    write_reports(report_context, outputs if fixes is None else fixes.outputs, line)
    if picture is not None:
        _plot(result, picture)
    code = audience.finish(report_context)
    return code if fixes is None else fixes.code(code)


def _plot(result: RunResult, path: str) -> None:
    """Draw what was measured; raises UsageError and WriteError."""
    from speccheck.validator.report.curve_plot import (  # noqa: PLC0415 - seldom
        NoPlotting,
        draw,
    )

    curves = [
        curve
        for plan in result.plans
        if plan.measured is not None
        for curve in plan.measured.curves
        if curve.curve.points
    ]
    if not curves:
        message = f"--plot {path}: no collective was measured: nothing to draw"
        raise UsageError(message)
    try:
        write_bytes(draw(curves, path.rpartition(".")[2]), path)
    except NoPlotting as error:
        raise UsageError(str(error)) from error


def run_of(
    request: Request, line: CommandLine, outputs: list[Output]
) -> "tuple[RunResult, Fixed | None]":
    """Return the run, and the fixes that were made if they were requested."""
    if not {"diff", "fix", "unsafe_fixes"} & line.values.keys():
        return run(request), None
    from speccheck.validator.cli.fix import fixed  # noqa: PLC0415 - seldom

    fixes = fixed(request, line, outputs)
    return fixes.run, fixes


def warn(messages: Iterable[str]) -> None:
    """Say on standard error what has no effect."""
    for message in messages:
        sys.stderr.write(f"speccheck: warning: {printable(message)}\n")


def _send_to_plan() -> NoReturn:
    message = "--what-if belongs to speccheck plan: speccheck plan FILE --what-if tp=4"
    raise UsageError(message)


def _show_settings(line: CommandLine) -> int:
    """Show them as the command line asks: their own reports are no place for it."""
    from speccheck.validator.cli.show_settings import (  # noqa: PLC0415 - seldom
        sections_of,
        settings_json,
        settings_text,
    )

    any_request(line)  # refuses values that no run could be judged by
    is_isolated = line.has("isolated")
    own = line._replace(values=line.stated)
    for output in outputs_of(own, ("text", "json")):
        form = settings_json if output.format == "json" else settings_text
        write(form(sections_of(line), is_isolated=is_isolated), output.path)
    return 0


def _show_files(request: Request) -> int:
    missing = 0
    for statuses, groups in read_plans(request):
        for file in statuses:
            missing += file.state == "unreadable"
            if file.state == "judged":
                line = f"{file.path}: {file.format} ({file.confidence:.2f}"
                line += f"; next {file.runner_up})" if file.runner_up else ")"
                line += f"; {file.message}" if file.message else ""
            else:
                line = f"{file.state}: {file.message}"
            sys.stdout.write(line + "\n")
        for group in groups:
            if group.reasons:
                names = ", ".join(file.status.path for file in group.files)
                line = f"together: {names} ({'; '.join(group.reasons)})"
                sys.stdout.write(line + "\n")
    return USAGE if missing else 0
