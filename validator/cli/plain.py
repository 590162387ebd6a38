"""`speccheck FILE...`: parse, run, report."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

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
    style_of,
    wants_traceback,
)
from speccheck.validator.report.form import FORMS, NAMES
from speccheck.validator.report.summary import exit_of, summarize
from speccheck.validator.report.told import Told
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.request import Request
from speccheck.validator.run import Run, read_plans, run
from speccheck.validator.sources.context import context_facts

if TYPE_CHECKING:
    from speccheck.validator.cli.fix import Fixed

FAIL_ON = ("error", "warning", "info", "never")
_USAGE = 2


def judge_files(words: list[str]) -> int:
    """Judge files; returns the exit code."""
    return judge(words, OPTIONS, files_request)


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
        found, fixes = run_of(request, parsed, outputs)
        outputs = outputs if fixes is None else fixes.outputs
        summary = summarize(found.plans)
        ending = exit_of(found, summary, fail_on, skip_unknown=request.skip_unknown)
        told = Told(found, summary, ending, "full" in parsed.values)
        for output in outputs:
            style = style_of(parsed, to_file=output.path is not None)
            write(FORMS[output.format].report(told, style), output.path)
        if picture is not None:
            from speccheck.validator.cli.plot import plot  # noqa: PLC0415 - seldom

            plot(found, picture)
    except REFUSALS as error:
        return _refuse(str(error), outputs)
    except Exception as error:
        if wants_traceback():
            raise
        return _refuse(bug_message(error), outputs, BUG)
    return ending.code if fixes is None else fixes.code(ending.code)


def run_of(
    request: Request, parsed: Parsed, outputs: list[Output]
) -> "tuple[Run, Fixed | None]":
    """The run, and what came of fixes where they were asked for."""
    if any(FORMS[output.format].tells_edits for output in outputs):
        request = request._replace(edits=True)
    if not {"diff", "fix", "unsafe_fixes"} & parsed.values.keys():
        return run(request), None
    from speccheck.validator.cli.fix import fixed  # noqa: PLC0415 - seldom

    fixes = fixed(request, parsed, outputs)
    return fixes.run, fixes


def _send_to_plan() -> NoReturn:
    message = "--what-if belongs to speccheck plan: speccheck plan FILE --what-if tp=4"
    raise UsageError(message)


def _refuse(message: str, outputs: list[Output], code: int = 2) -> int:
    sys.stderr.write(f"speccheck: {message}\n")
    if any(output.format == "json" for output in outputs):
        from speccheck.validator.report.json_report import (  # noqa: PLC0415
            failure_report,
        )

        for output in outputs:
            if output.format == "json":
                with suppress(WriteError):  # the first error is the one to tell
                    write(failure_report(message, code), output.path)
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
