"""rdjson, the Reviewdog Diagnostic Format: comments on the lines of a pull request.

Columns count bytes of UTF-8, from 1, and an end is exclusive. Paths are as the user
called them, since reviewdog runs where this ran. What is waived is left out; a file
that could not be read is a diagnostic of its own. Suggestions are edits that change
nothing of what the model learns.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial

from speccheck.validator.engine.locate import Location
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.forms.places import byte_column
from speccheck.validator.report.problems import (
    Problem,
    advice,
    clean,
    elsewhere,
    problems,
    statement,
    unread_files,
)
from speccheck.validator.report.style import Style
from speccheck.validator.sources.files import FileStatus

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}
_ORDER = tuple(_SEVERITIES.values())
_encode = partial(json.dumps, ensure_ascii=False)
Row = dict[str, object]


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """The whole result, a diagnostic a line."""
    unread = map(_unread, unread_files(context))
    failed = (_diagnostic(one) for one in problems(context.run) if not one.waiver)
    yield from _result([*unread, *failed])


def failure_report(message: str, code: int) -> str:
    """One diagnostic for a run that could not begin."""
    text = f"{message} (exit code {code})"
    return "".join(_result([_row(text, "ERROR", "not-run", {"path": "."})]))


def _result(rows: Iterable[Row]) -> Iterator[str]:
    rows = list(rows)
    found = [severity for severity in _ORDER if _has(rows, severity)]
    severity = found[0] if found else _ORDER[-1]
    yield f'{{\n"source": {{"name": "speccheck"}},\n"severity": "{severity}",\n'
    lines = ",\n".join(map(_encode, rows))
    yield f'"diagnostics": [\n{lines}\n]\n}}\n' if lines else '"diagnostics": []\n}\n'


def _has(rows: Iterable[Row], severity: str) -> bool:
    return any(row["severity"] == severity for row in rows)


def _diagnostic(one: Problem) -> Row:
    location: Row = {"path": clean(one.file)}
    if one.at is not None:
        location["range"] = _range(one.at)
    text = "\n".join((statement(one), *advice(one.finding), *elsewhere(one)))
    row: Row = {
        "message": text,
        "location": location,
        "severity": _SEVERITIES[one.level],
        "code": {"value": one.name},
    }
    suggestions = list(_suggestions(one))
    if suggestions:
        row["suggestions"] = suggestions
    return row


def _suggestions(one: Problem) -> Iterator[Row]:
    """The edit that mends it, if it is one and begins on the line that is shown.

    A suggestion knows no other file, several are not taken together, and columns of
    another line cannot be counted in bytes here.
    """
    if one.at is None or len(one.edits) != 1:
        return
    (edit,) = one.edits
    ends_there = edit.end_line == one.at.line
    if (edit.file, edit.line) != (one.at.file, one.at.line):
        return
    if not ends_there and edit.end_column != 1:
        return
    end = byte_column(one.at.text, edit.end_column) if ends_there else 1
    yield {
        "range": {
            "start": {
                "line": edit.line,
                "column": byte_column(one.at.text, edit.column),
            },
            "end": {"line": edit.end_line, "column": end},
        },
        "text": edit.text,
    }


def _range(at: Location) -> Row:
    return {
        "start": {"line": at.line, "column": byte_column(at.text, at.column)},
        "end": {"line": at.line, "column": byte_column(at.text, at.column + at.length)},
    }


def _unread(file: FileStatus) -> Row:
    return _row(file.message, "ERROR", file.state, {"path": clean(file.path)})


def _row(text: str, severity: str, code: str, location: Row) -> Row:
    return {
        "message": clean(text),
        "location": location,
        "severity": severity,
        "code": {"value": code},
    }
