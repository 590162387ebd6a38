"""GitLab Code Quality: what a merge request makes better or worse.

A list of faults and nothing else: GitLab shows those that came and those that went, by
their fingerprints, so these survive lines that move. It stops reading at the first
entry that lacks something, so every entry has everything. What is waived is left out,
and so is what holds or could not be judged: there is no way to say so here. A file that
could not be read is a fault: an empty list would look as if all were well.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial

from speccheck.validator.engine.repository import project_root
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.problems import (
    Problem,
    clean,
    in_short,
    problems,
    unread_files,
)
from speccheck.validator.report.style import Style
from speccheck.validator.run.identity import seen_from
from speccheck.validator.sources.files import FileStatus

_SEVERITIES = {"error": "critical", "warning": "major", "info": "minor"}
_GRAVEST = "blocker"  # nothing is known of the file
_encode = partial(json.dumps, ensure_ascii=False)


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """The whole list, an entry a line."""
    root = project_root()
    unread = (_unread(file, root) for file in unread_files(context))
    failed = (_entry(one) for one in problems(context.run) if not one.waiver)
    yield from _list([*unread, *failed])


def failure_report(message: str, code: int) -> str:
    """One entry for a run that could not begin: an empty list means all is well."""
    text = f"{message} (exit code {code})"
    return "".join(_list([_row(text, "not-run", _hash("not-run"), _GRAVEST, ".", 1)]))


def _list(rows: Iterable[dict[str, object]]) -> Iterator[str]:
    lines = ",\n".join(map(_encode, rows))
    yield f"[\n{lines}\n]\n" if lines else "[]\n"


def _entry(one: Problem) -> dict[str, object]:
    severity = _GRAVEST if one.is_broken else _SEVERITIES[one.finding.level]
    line = one.at.line if one.at else 1
    return _row(in_short(one), one.name, one.fingerprint, severity, one.path, line)


def _unread(file: FileStatus, root: str) -> dict[str, object]:
    path = seen_from(file.path, root)
    return _row(file.message, file.state, _hash(file.state, path), _GRAVEST, path, 1)


def _row(
    text: str, name: str, fingerprint: str, severity: str, path: str, line: int
) -> dict[str, object]:
    return {
        "description": clean(text),
        "check_name": name,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": clean(path), "lines": {"begin": line}},
    }


def _hash(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:32]
