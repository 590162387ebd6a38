"""`speccheck FILE...`: parse, run, report."""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from speccheck.validator.cli.option_table import FAIL_ON, OPTIONS, Option
from speccheck.validator.cli.options import Parsed, UsageError, parse
from speccheck.validator.cli.request import (
    BUG,
    REFUSALS,
    Output,
    bug_message,
    files_request,
    one_of,
    outputs_in,
    outputs_of,
    passes_on,
    picture_of,
)
from speccheck.validator.cli.request import request_of as any_request
from speccheck.validator.cli.settled import with_settings
from speccheck.validator.cli.write_reports import refuse, write_reports
from speccheck.validator.engine.request import Request
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.form import FORMS, NAMES
from speccheck.validator.report.style import printable
from speccheck.validator.report.summary import exit_of, summarize
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.run.run import Run, read_plans, run
from speccheck.validator.sources.context import context_facts

if TYPE_CHECKING:
    from speccheck.validator.cli.fix import Fixed

_USAGE = 2
_WATCH = "--watch"


class Audience:
    """Who hears how a run ended, besides the readers of its reports; here nobody."""

    def reports(self, outputs: list[Output]) -> list[Output]:
        """The reports to write, of those that the command line asks for."""
        return outputs

    def remarks(self, run: Run) -> tuple[str, ...]:  # noqa: ARG002 - others use it
        """What the report says besides, at its end."""
        return ()

    def told(self, context: ReportContext) -> int:
        """Hear what was judged, once the reports are written; returns the exit code."""
        return context.ending.code

    def refused(self, message: str, code: int) -> int:  # noqa: ARG002 - others use it
        """Hear why nothing was judged; returns the exit code."""
        return code


_NOBODY = Audience()


def judge_files(words: list[str]) -> int:
    """Judge files, once or whenever one changes; returns the exit code."""
    if _WATCH in words:
        return _watched([one for one in words if one != _WATCH])
    return judge(words, OPTIONS, files_request)


def _watched(words: list[str]) -> int:
    if "-" in words:
        return refuse(f"{_WATCH}: standard input cannot be watched", [])
    from speccheck.validator.cli.watch import watch  # noqa: PLC0415 - seldom

    return watch(lambda: judge(words, OPTIONS, files_request))


def judge(
    words: list[str],
    options: tuple[Option, ...],
    request_of: Callable[[Parsed], Request],
    prepared: Callable[[Request, Parsed], Request] | None = None,
    audience: Audience = _NOBODY,
) -> int:
    """Judge what a command line asks for; every error is one line on standard error.

    Args:
        words: the command line.
        options: those it may have.
        request_of: what it asks for.
        prepared: the same with what takes time, once the command line is known to be
            right.
        audience: who hears how it ended.

    Returns:
        The exit code.

    """
    outputs = audience.reports(outputs_in(words, NAMES))
    try:
        parsed = parse(words, options)
        outputs = audience.reports(outputs_of(parsed, NAMES))
        parsed = with_settings(parsed, options)
        outputs = audience.reports(outputs_of(parsed, NAMES))
        shown = _shown_instead(parsed, request_of)
        if shown is not None:
            return shown
        return _judged(parsed, outputs, request_of(parsed), prepared, audience)
    except WriteError as error:
        # None of the files, not even to say so.
        outputs = [one for one in outputs if one.path is None]
        return audience.refused(str(error), refuse(str(error), outputs))
    except REFUSALS as error:
        return audience.refused(str(error), refuse(str(error), outputs))
    except Exception as error:
        if passes_on(error):
            raise
        message = bug_message(error)
        return audience.refused(message, refuse(message, outputs, BUG))


def _shown_instead(
    parsed: Parsed, request_of: Callable[[Parsed], Request]
) -> int | None:
    """The exit code where something is shown and nothing judged; None elsewhere."""
    if "show_settings" in parsed.values:
        return _show_settings(parsed)
    if "what_if" in parsed.values:
        _send_to_plan()
    return _show_files(request_of(parsed)) if "show_files" in parsed.values else None


def _judged(
    parsed: Parsed,
    outputs: list[Output],
    request: Request,
    prepared: Callable[[Request, Parsed], Request] | None,
    audience: Audience,
) -> int:
    """Judge and write the reports; returns the exit code."""
    fail_on = one_of(parsed, "fail_on", FAIL_ON)
    picture = picture_of(parsed)
    context_facts(request.context)  # refuses unknown names before any work
    forms = [FORMS[output.format] for output in outputs]
    if any(form.shows_plans for form in forms):
        request = request._replace(full=True, keeps_plans=True)
    if any(form.tells_edits for form in forms):
        request = request._replace(edits=True)
    if prepared is not None:
        request = prepared(request, parsed)
    found, fixes = run_of(request, parsed, outputs)
    warn(found.warnings)
    summary = summarize(found.plans)
    ending = exit_of(found, summary, fail_on, skip_unknown=request.skip_unknown)
    told = ReportContext(
        found,
        summary,
        ending,
        full="full" in parsed.values,
        statistics="statistics" in parsed.values,
        fail_on=fail_on,
        skips_unknown=request.skip_unknown,
        with_waived="sarif_include_waived" in parsed.values,
        remarks=audience.remarks(found),
    )
    write_reports(told, outputs if fixes is None else fixes.outputs, parsed)
    if picture is not None:
        from speccheck.validator.cli.plot import plot  # noqa: PLC0415 - seldom

        plot(found, picture)
    code = audience.told(told)
    return code if fixes is None else fixes.code(code)


def run_of(
    request: Request, parsed: Parsed, outputs: list[Output]
) -> "tuple[Run, Fixed | None]":
    """The run, and what came of fixes where they were asked for."""
    if not {"diff", "fix", "unsafe_fixes"} & parsed.values.keys():
        return run(request), None
    from speccheck.validator.cli.fix import fixed  # noqa: PLC0415 - seldom

    fixes = fixed(request, parsed, outputs)
    return fixes.run, fixes


def warn(messages: Iterable[str]) -> None:
    """Say on standard error what has no effect."""
    for message in messages:
        sys.stderr.write(f"speccheck: warning: {printable(message)}\n")


def _send_to_plan() -> NoReturn:
    message = "--what-if belongs to speccheck plan: speccheck plan FILE --what-if tp=4"
    raise UsageError(message)


def _show_settings(parsed: Parsed) -> int:
    """Show them as the command line asks: their own reports are no place for it."""
    from speccheck.validator.cli.show_settings import (  # noqa: PLC0415 - seldom
        sections_of,
        settings_json,
        settings_text,
    )

    any_request(parsed)  # refuses values that no run could be judged by
    is_isolated = "isolated" in parsed.values
    own = parsed
    if parsed.settled is not None:
        own = parsed._replace(values={**parsed.settled.own})
    for output in outputs_of(own, ("text", "json")):
        form = settings_json if output.format == "json" else settings_text
        write(form(sections_of(parsed), is_isolated=is_isolated), output.path)
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
    return _USAGE if missing else 0
