"""Writes the reports of a run: all of them or none, and what a CI reads besides."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress

from speccheck.validator.cli.options import Parsed
from speccheck.validator.cli.request import Output, reports_of, style_of
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.form import FORMS
from speccheck.validator.report.style import printable
from speccheck.validator.report.write import (
    WriteError,
    disarmed,
    is_read_by_runner,
    write,
    write_all,
)


def write_reports(
    context: ReportContext, outputs: list[Output], parsed: Parsed
) -> None:
    """Write all reports or none; raises WriteError, or UsageError for a lost input."""
    named = reports_of(parsed)
    if named:
        from speccheck.validator.cli.destinations import (  # noqa: PLC0415 - to files
            verify_not_judged,
        )

        judged = (file.path for file in context.run.files if file.state == "judged")
        verify_not_judged(named, judged)
    reports: list[tuple[Iterable[str], str | None]] = []
    is_read = is_read_by_runner(os.environ)
    for output in outputs:
        style = style_of(parsed, to_file=output.path is not None)
        text = FORMS[output.format].report(context, style)
        if is_read and _is_shown(output):
            from speccheck.validator.cli.ci_log import for_runner  # noqa: PLC0415

            annotated = FORMS[output.format].has_company
            text = for_runner(text, context, annotated=annotated)
        reports.append((text, output.path))
    write_all(reports)
    if is_read and any(map(_is_shown, outputs)):
        from speccheck.validator.cli.ci_log import write_summary  # noqa: PLC0415

        write_summary(context)


def _is_shown(output: Output) -> bool:
    """Whether people read it in the log or on the terminal."""
    return output.path is None and FORMS[output.format].is_for_people


def refuse(message: str, outputs: list[Output], code: int = 2) -> int:
    """Tell why nothing is judged, in each form that can; returns the exit code."""
    shown = "\n".join(map(printable, message.split("\n")))
    sys.stderr.write(f"speccheck: {disarmed(shown)}\n")
    for output in outputs:
        told = FORMS[output.format].refusal(message, code)
        if told is not None:
            with suppress(WriteError):  # the first error is the one to tell
                write(told, output.path)
    if is_read_by_runner(os.environ) and any(map(_is_shown, outputs)):
        from speccheck.validator.cli.ci_log import tell_failure  # noqa: PLC0415

        tell_failure(message, code)
    return code
