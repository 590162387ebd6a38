"""What a run adds, and takes care of, where a CI reads its output.

On GitHub annotations follow the report for people, and the summary of the job gets the
report in Markdown; both only there, so that no other form on standard output holds a
line that is not its own.
"""

import os
import sys
from collections.abc import Iterable, Iterator

from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.form import FORMS
from speccheck.validator.report.forms.markdown import SUMMARY_BYTES, markdown_text
from speccheck.validator.report.style import Style
from speccheck.validator.report.write import disarmed

_GITHUB = "github"


def is_on_github() -> bool:
    """Whether this is a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def for_runner(
    pieces: Iterable[str], context: ReportContext, *, annotated: bool
) -> Iterator[str]:
    """A report for people as a runner may read it, with annotations on GitHub."""
    yield from map(disarmed, pieces)
    if annotated and is_on_github():
        yield from FORMS[_GITHUB].report(context, Style())


def tell_failure(message: str, code: int) -> None:
    """Annotate a run that could not begin."""
    if is_on_github():
        sys.stderr.write(FORMS[_GITHUB].refusal(message, code) or "")


def write_summary(context: ReportContext) -> None:
    """Add the report to the summary of the job, where there is one.

    It is an extra: that it cannot be written changes nothing of the verdict.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or not is_on_github():
        return
    try:
        there = os.path.getsize(path) if os.path.exists(path) else 0
        text = markdown_text(context, SUMMARY_BYTES - there)
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        sys.stderr.write(f"speccheck: {path}: no summary: {error.strerror}\n")
