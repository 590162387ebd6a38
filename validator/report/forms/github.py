"""GitHub workflow commands: annotations on the lines of a pull request.

GitHub shows ten errors, ten warnings and ten notices of a step, in the order in which
they are printed, and hides the others without a word. So the gravest come first, at
most ten of each, and a last notice gives the totals. What is advice stands only there.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.engine.locate import Location
from speccheck.validator.engine.repository import project_root
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.problems import (
    Problem,
    advice,
    clean,
    elsewhere,
    problems,
    statement,
    totals,
    unread_files,
)
from speccheck.validator.report.style import Style
from speccheck.validator.report.write import github_data, github_property
from speccheck.validator.run.identity import seen_from
from speccheck.validator.sources.files import FileStatus

MOST_OF_A_KIND = 10
_KINDS = ("error", "warning")


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """A command a line."""
    root = project_root()
    found = problems(context.run)
    lines: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    lines["error"] += [_of_file(file, root) for file in unread_files(context)]
    for one in found:
        if one.level in lines and not one.waiver:
            lines[one.level].append(_of_problem(one))
    for kind in _KINDS:
        yield from lines[kind][:MOST_OF_A_KIND]
    yield _totals(context, found, lines)


def failure_report(message: str, code: int) -> str:
    """One error for a run that could not begin."""
    text = f"{message} (exit code {code})"
    return _command("error", {"title": "speccheck"}, clean(text))


def _command(kind: str, properties: dict[str, str], text: str) -> str:
    named = ",".join(
        f"{name}={github_property(value)}" for name, value in properties.items()
    )
    return f"::{kind} {named}::{github_data(text)}\n"


def _of_problem(one: Problem) -> str:
    properties = {"file": clean(one.path), **_lines(one.at)}
    properties["title"] = f"{one.finding.clause} {one.finding.rule}".rstrip()
    lines = (statement(one), *advice(one.finding), *elsewhere(one))
    return _command(one.level, properties, "\n".join(lines))


def _lines(at: Location | None) -> dict[str, str]:
    """Columns count only where the last line is the first."""
    if at is None:
        return {}
    end = at.column + at.length
    return {
        "line": str(at.line),
        "endLine": str(at.line),
        "col": str(at.column),
        "endColumn": str(end),
    }


def _of_file(file: FileStatus, root: str) -> str:
    path = clean(seen_from(file.path, root))
    properties = {"file": path, "title": "speccheck cannot judge this file"}
    return _command("error", properties, clean(file.message))


def _totals(
    context: ReportContext, found: Sequence[Problem], lines: dict[str, list[str]]
) -> str:
    text = totals(context, found)
    if any(len(lines[kind]) > MOST_OF_A_KIND for kind in _KINDS):
        text += (
            f"; annotations show the first {MOST_OF_A_KIND} errors and "
            f"{MOST_OF_A_KIND} warnings, the log and the summary all"
        )
    return _command("notice", {"title": "speccheck"}, text)
