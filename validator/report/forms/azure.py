"""Azure logging commands: errors and warnings of a pipeline run.

There are only these two kinds: advice and what is waived stand in the last line, which
is no command, with the totals.
"""

from collections.abc import Iterator

from speccheck.validator.engine.repository import project_root
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.problems import (
    Problem,
    clean,
    in_short,
    problems,
    totals,
    unread_files,
)
from speccheck.validator.report.style import Style
from speccheck.validator.report.write import azure_text, disarmed
from speccheck.validator.run.identity import seen_from

_KINDS = ("error", "warning")


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """A command a line, the gravest first, then the totals."""
    root = project_root()
    found = problems(context.run)
    for file in unread_files(context):
        properties = {"sourcepath": seen_from(file.path, root), "code": file.state}
        yield _command("error", properties, file.message)
    for one in found:
        if one.level in _KINDS and not one.waiver:
            yield _command(one.level, _properties(one), in_short(one))
    yield disarmed(
        f"speccheck: {totals(context, found)} (exit {context.ending.code})\n"
    )


def failure_report(message: str, code: int) -> str:
    """One error for a run that could not begin."""
    return _command("error", {"code": "not-run"}, f"{message} (exit code {code})")


def _properties(one: Problem) -> dict[str, str]:
    properties = {"sourcepath": one.path}
    if one.at is not None:
        properties["linenumber"] = str(one.at.line)
        properties["columnnumber"] = str(one.at.column)
    return {**properties, "code": one.name}


def _command(kind: str, properties: dict[str, str], text: str) -> str:
    named = "".join(
        f"{name}={azure_text(clean(value))};" for name, value in properties.items()
    )
    return f"##vso[task.logissue type={kind};{named}]{azure_text(clean(text))}\n"
