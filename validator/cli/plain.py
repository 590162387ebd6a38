"""`speccheck FILE...`: parse, run, report."""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

from speccheck.validator.cli.options import (
    OPTIONS,
    Option,
    Parsed,
    UsageError,
    parse,
)
from speccheck.validator.cli.request import (
    BUG,
    REFUSALS,
    Output,
    bug_message,
    files_request,
    one_of,
    outputs_of,
    picture_of,
    reports_of,
    style_of,
    wants_traceback,
)
from speccheck.validator.report.form import FORMS, NAMES
from speccheck.validator.report.log_commands import disarmed, is_read_by_runner
from speccheck.validator.report.style import printable
from speccheck.validator.report.summary import exit_of, summarize
from speccheck.validator.report.told import Told
from speccheck.validator.report.write import WriteError, write, write_all
from speccheck.validator.request import Request
from speccheck.validator.run import read_plans, run
from speccheck.validator.sources.context import context_facts

FAIL_ON = ("error", "warning", "info", "never")
_USAGE = 2
_WATCH = "--watch"


def judge_files(words: list[str]) -> int:
    """Judge files, once or whenever one changes; returns the exit code."""
    if _WATCH in words:
        return _watched([one for one in words if one != _WATCH])
    return judge(words, OPTIONS, files_request)


def _watched(words: list[str]) -> int:
    if "-" in words:
        return _refuse(f"{_WATCH}: standard input cannot be watched", [])
    from speccheck.validator.cli.watch import watch  # noqa: PLC0415 - seldom

    return watch(lambda: judge(words, OPTIONS, files_request))


def judge(
    words: list[str],
    options: tuple[Option, ...],
    request_of: Callable[[Parsed], Request],
    prepared: Callable[[Request, Parsed], Request] | None = None,
) -> int:
    """Judge what a command line asks for; every error is one line on standard error.

    Args:
        words: the command line.
        options: those it may have.
        request_of: what it asks for.
        prepared: the same with what takes time, once the command line is known to be
            right.

    Returns:
        The exit code.

    """
    outputs: list[Output] = [Output("text", None)]
    try:
        parsed = parse(words, options)
        outputs = outputs_of(parsed, NAMES)
        request = request_of(parsed)
        fail_on = one_of(parsed, "fail_on", FAIL_ON)
        picture = picture_of(parsed)
        if "what_if" in parsed.values:
            _send_to_plan()
        if "show_files" in parsed.values:
            return _show_files(request)
        context_facts(request.context)  # refuses unknown names before any work
        if prepared is not None:
            request = prepared(request, parsed)
        found = run(request)
        summary = summarize(found.plans)
        ending = exit_of(found, summary, fail_on, skip_unknown=request.skip_unknown)
        told = Told(
            found,
            summary,
            ending,
            full="full" in parsed.values,
            fail_on=fail_on,
            skips_unknown=request.skip_unknown,
            with_waived="sarif_include_waived" in parsed.values,
        )
        _write(told, outputs, parsed)
        if picture is not None:
            from speccheck.validator.cli.plot import plot  # noqa: PLC0415 - seldom

            plot(found, picture)
    except WriteError as error:
        return _refuse(str(error), [])  # none of the reports, not even of this
    except REFUSALS as error:
        return _refuse(str(error), outputs)
    except BrokenPipeError:
        raise
    except Exception as error:
        if wants_traceback():
            raise
        return _refuse(bug_message(error), outputs, BUG)
    return ending.code


def _send_to_plan() -> NoReturn:
    message = "--what-if belongs to speccheck plan: speccheck plan FILE --what-if tp=4"
    raise UsageError(message)


def _write(told: Told, outputs: list[Output], parsed: Parsed) -> None:
    """Write all reports or none; raises WriteError, or UsageError for a lost input."""
    named = reports_of(parsed)
    if named:
        from speccheck.validator.cli.destinations import (  # noqa: PLC0415 - to files
            verify_not_judged,
        )

        judged = (file.path for file in told.run.files if file.state == "judged")
        verify_not_judged(named, judged)
    reports: list[tuple[Iterable[str], str | None]] = []
    is_read = is_read_by_runner(os.environ)
    for output in outputs:
        style = style_of(parsed, to_file=output.path is not None)
        text = FORMS[output.format].report(told, style)
        if is_read and _is_shown(output):
            from speccheck.validator.cli.ci_log import for_runner  # noqa: PLC0415

            text = for_runner(text, told)
        reports.append((text, output.path))
    write_all(reports)
    if is_read and any(map(_is_shown, outputs)):
        from speccheck.validator.cli.ci_log import write_summary  # noqa: PLC0415

        write_summary(told)


def _is_shown(output: Output) -> bool:
    """Whether people read it in the log or on the terminal."""
    return output.path is None and FORMS[output.format].is_for_people


def _refuse(message: str, outputs: list[Output], code: int = 2) -> int:
    sys.stderr.write(f"speccheck: {disarmed(printable(message))}\n")
    for output in outputs:
        told = FORMS[output.format].refusal(message, code)
        if told is not None:
            with suppress(WriteError):  # the first error is the one to tell
                write(told, output.path)
    if is_read_by_runner(os.environ) and any(map(_is_shown, outputs)):
        from speccheck.validator.cli.ci_log import tell_failure  # noqa: PLC0415

        tell_failure(message, code)
    return code


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
