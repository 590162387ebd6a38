"""Findings as the platforms of reviews take them: GitHub, Azure, GitLab, reviewdog."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from speccheck.validator.engine.locate import Location
from speccheck.validator.engine.paths import project_root
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.problems import (
    Problem,
    advice,
    clean,
    elsewhere,
    in_short,
    problems,
    statement,
    totals,
    unread_files,
)
from speccheck.validator.report.style import Style
from speccheck.validator.report.write import (
    azure_text,
    disarmed,
    github_data,
    github_property,
)
from speccheck.validator.run.identity import seen_from
from speccheck.validator.sources.files import FileStatus

_encode = partial(json.dumps, ensure_ascii=False)
Row = dict[str, object]

# --- GitHub ---------------------------------------------------------------------------
#
# GitHub workflow commands: annotations on the lines of a pull request.
#
# GitHub shows ten errors, ten warnings and ten notices of a step, in the order in which
# they are printed, and hides the others without a word. So the gravest come first, at
# most ten of each, and a last notice gives the totals. What is advice stands only
# there.

MOST_OF_A_KIND = 10
_GITHUB_KINDS = ("error", "warning")


def github_report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield a command a line."""
    root = project_root()
    result = problems(context.run)
    lines: dict[str, list[str]] = {kind: [] for kind in _GITHUB_KINDS}
    lines["error"] += [_github_of_file(file, root) for file in unread_files(context)]
    for problem in result:
        if problem.level in lines and not problem.waiver:
            lines[problem.level].append(_github_of_problem(problem))
    for kind in _GITHUB_KINDS:
        yield from lines[kind][:MOST_OF_A_KIND]
    yield _github_totals(context, result, lines)


def github_refusal(message: str, code: int) -> str:
    """Return one error for a run that could not begin."""
    text = f"{message} (exit code {code})"
    return _github_command("error", {"title": "speccheck"}, clean(text))


def _github_command(kind: str, properties: dict[str, str], text: str) -> str:
    named = ",".join(
        f"{name}={github_property(value)}" for name, value in properties.items()
    )
    return f"::{kind} {named}::{github_data(text)}\n"


def _github_of_problem(problem: Problem) -> str:
    properties = {"file": clean(problem.path), **_github_lines(problem.at)}
    properties["title"] = f"{problem.finding.clause} {problem.finding.rule}".rstrip()
    lines = (statement(problem), *advice(problem.finding), *elsewhere(problem))
    return _github_command(problem.level, properties, "\n".join(lines))


def _github_lines(at: Location | None) -> dict[str, str]:
    """Return lines and columns; columns count only where the last line is the first."""
    if at is None:
        return {}
    end = at.column + at.length
    return {
        "line": str(at.line),
        "endLine": str(at.line),
        "col": str(at.column),
        "endColumn": str(end),
    }


def _github_of_file(file: FileStatus, root: str) -> str:
    path = clean(seen_from(file.path, root))
    properties = {"file": path, "title": "speccheck cannot judge this file"}
    return _github_command("error", properties, clean(file.message))


def _github_totals(
    context: ReportContext, result: Sequence[Problem], lines: dict[str, list[str]]
) -> str:
    text = totals(context, result)
    if any(len(lines[kind]) > MOST_OF_A_KIND for kind in _GITHUB_KINDS):
        text += (
            f"; annotations show the first {MOST_OF_A_KIND} errors and "
            f"{MOST_OF_A_KIND} warnings, the log and the summary all"
        )
    return _github_command("notice", {"title": "speccheck"}, text)


# --- Azure ----------------------------------------------------------------------------
#
# Azure logging commands: errors and warnings of a pipeline run.
#
# There are only these two kinds: advice and what is waived stand in the last line,
# which is no command, with the totals.

_AZURE_KINDS = ("error", "warning")


def azure_report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield a command a line, the gravest first, then the totals."""
    root = project_root()
    result = problems(context.run)
    for file in unread_files(context):
        properties = {"sourcepath": seen_from(file.path, root), "code": file.state}
        yield _azure_command("error", properties, file.message)
    for problem in result:
        if problem.level in _AZURE_KINDS and not problem.waiver:
            yield _azure_command(
                problem.level, _azure_properties(problem), in_short(problem)
            )
    yield disarmed(
        f"speccheck: {totals(context, result)} (exit {context.ending.code})\n"
    )


def azure_refusal(message: str, code: int) -> str:
    """Return one error for a run that could not begin."""
    return _azure_command("error", {"code": "not-run"}, f"{message} (exit code {code})")


def _azure_properties(problem: Problem) -> dict[str, str]:
    properties = {"sourcepath": problem.path}
    if problem.at is not None:
        properties["linenumber"] = str(problem.at.line)
        properties["columnnumber"] = str(problem.at.column)
    return {**properties, "code": problem.name}


def _azure_command(kind: str, properties: dict[str, str], text: str) -> str:
    named = "".join(
        f"{name}={azure_text(clean(value))};" for name, value in properties.items()
    )
    return f"##vso[task.logissue type={kind};{named}]{azure_text(clean(text))}\n"


# --- GitLab ---------------------------------------------------------------------------
#
# GitLab Code Quality: what a merge request makes better or worse.
#
# A list of faults and nothing else: GitLab shows those that came and those that went,
# by their fingerprints, so these survive lines that move. It stops reading at the first
# entry that lacks something, so every entry has everything. What is waived is left out,
# and so is what holds or could not be judged: there is no way to say so here. A file
# that could not be read is a fault: an empty list would look as if all were well.

_GITLAB_SEVERITIES = {"error": "critical", "warning": "major", "info": "minor"}
_GITLAB_GRAVEST = "blocker"  # nothing is known of the file


def gitlab_report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the whole list, an entry a line."""
    root = project_root()
    unread = (_gitlab_unread(file, root) for file in unread_files(context))
    failed = (
        _gitlab_entry(problem)
        for problem in problems(context.run)
        if not problem.waiver
    )
    yield from _gitlab_list([*unread, *failed])


def gitlab_refusal(message: str, code: int) -> str:
    """Return one entry for a run that could not begin; an empty list is well."""
    text = f"{message} (exit code {code})"
    return "".join(
        _gitlab_list(
            [
                _gitlab_row(
                    text, "not-run", _gitlab_hash("not-run"), _GITLAB_GRAVEST, ".", 1
                )
            ]
        )
    )


def _gitlab_list(rows: Iterable[dict[str, object]]) -> Iterator[str]:
    lines = ",\n".join(map(_encode, rows))
    yield f"[\n{lines}\n]\n" if lines else "[]\n"


def _gitlab_entry(problem: Problem) -> dict[str, object]:
    severity = (
        _GITLAB_GRAVEST
        if problem.is_broken
        else _GITLAB_SEVERITIES[problem.finding.level]
    )
    line = problem.at.line if problem.at else 1
    return _gitlab_row(
        in_short(problem),
        problem.name,
        problem.fingerprint,
        severity,
        problem.path,
        line,
    )


def _gitlab_unread(file: FileStatus, root: str) -> dict[str, object]:
    path = seen_from(file.path, root)
    return _gitlab_row(
        file.message,
        file.state,
        _gitlab_hash(file.state, path),
        _GITLAB_GRAVEST,
        path,
        1,
    )


def _gitlab_row(
    text: str, name: str, fingerprint: str, severity: str, path: str, line: int
) -> dict[str, object]:
    return {
        "description": clean(text),
        "check_name": name,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": clean(path), "lines": {"begin": line}},
    }


def _gitlab_hash(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:32]


# --- reviewdog ------------------------------------------------------------------------
#
# rdjson, the Reviewdog Diagnostic Format: comments on the lines of a pull request.
#
# Columns count bytes of UTF-8, from 1, and an end is exclusive. Paths are as the user
# called them, since reviewdog runs where this ran. What is waived is left out; a file
# that could not be read is a diagnostic of its own. Suggestions are edits that change
# nothing of what the model learns.

_RDJSON_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}
_RDJSON_ORDER = tuple(_RDJSON_SEVERITIES.values())


def rdjson_report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the whole result, a diagnostic a line."""
    unread = map(_rdjson_unread, unread_files(context))
    failed = (
        _rdjson_diagnostic(problem)
        for problem in problems(context.run)
        if not problem.waiver
    )
    yield from _rdjson_result([*unread, *failed])


def rdjson_refusal(message: str, code: int) -> str:
    """Return one diagnostic for a run that could not begin."""
    text = f"{message} (exit code {code})"
    return "".join(
        _rdjson_result([_rdjson_row(text, "ERROR", "not-run", {"path": "."})])
    )


def _rdjson_result(rows: Iterable[Row]) -> Iterator[str]:
    rows = list(rows)
    texts = [severity for severity in _RDJSON_ORDER if _rdjson_has(rows, severity)]
    severity = texts[0] if texts else _RDJSON_ORDER[-1]
    yield f'{{\n"source": {{"name": "speccheck"}},\n"severity": "{severity}",\n'
    lines = ",\n".join(map(_encode, rows))
    yield f'"diagnostics": [\n{lines}\n]\n}}\n' if lines else '"diagnostics": []\n}\n'


def _rdjson_has(rows: Iterable[Row], severity: str) -> bool:
    return any(row["severity"] == severity for row in rows)


def _rdjson_diagnostic(problem: Problem) -> Row:
    location: Row = {"path": clean(problem.file)}
    if problem.at is not None:
        location["range"] = _rdjson_range(problem.at)
    text = "\n".join(
        (statement(problem), *advice(problem.finding), *elsewhere(problem))
    )
    row: Row = {
        "message": text,
        "location": location,
        "severity": _RDJSON_SEVERITIES[problem.level],
        "code": {"value": problem.name},
    }
    suggestions = list(_rdjson_suggestions(problem))
    if suggestions:
        row["suggestions"] = suggestions
    return row


def _rdjson_suggestions(problem: Problem) -> Iterator[Row]:
    """Yield the edit that mends it, if it is single and begins on the shown line.

    A suggestion knows no other file, several are not taken together, and columns of
    another line cannot be counted in bytes here.
    """
    if problem.at is None or len(problem.edits) != 1:
        return
    (edit,) = problem.edits
    ends_there = edit.end_line == problem.at.line
    if (edit.file, edit.line) != (problem.at.file, problem.at.line):
        return
    if not ends_there and edit.end_column != 1:
        return
    end = byte_column(problem.at.text, edit.end_column) if ends_there else 1
    yield {
        "range": {
            "start": {
                "line": edit.line,
                "column": byte_column(problem.at.text, edit.column),
            },
            "end": {"line": edit.end_line, "column": end},
        },
        "text": edit.text,
    }


def _rdjson_range(at: Location) -> Row:
    return {
        "start": {"line": at.line, "column": byte_column(at.text, at.column)},
        "end": {"line": at.line, "column": byte_column(at.text, at.column + at.length)},
    }


def _rdjson_unread(file: FileStatus) -> Row:
    return _rdjson_row(file.message, "ERROR", file.state, {"path": clean(file.path)})


def _rdjson_row(text: str, severity: str, code: str, location: Row) -> Row:
    return {
        "message": clean(text),
        "location": location,
        "severity": severity,
        "code": {"value": code},
    }


def byte_column(text: str, column: int) -> int:
    """Return a column of a line counted in bytes of UTF-8, from 1."""
    return len(text[: column - 1].encode("utf-8", "replace")) + 1
