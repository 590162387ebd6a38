"""SARIF 2.1.0, for code scanning and for viewers of static analysis.

GitHub reads only a part of the format, and its habits decide what is written:

- It knows no `kind`: whatever is a result becomes an alert, also what holds or could
  not be judged. So a clause that is unknown is no result but a notification of the
  tool; only `--full`, which is not for GitHub, adds results of the other kinds.
- It does not honour `suppressions`: a result that is waived would be an open alert. So
  waived failures are left out, unless `--sarif-include-waived` asks for them.
- A result needs a physical location; machines and their parts, which have none, are
  shown at the snapshot and named as logical locations.
- It tells alerts apart by `primaryLocationLineHash`, which its upload action works out
  from the line. A result about a whole file has no line to work from, so there it is
  given, and stays as it is for the next snapshot of the same machine.
- It takes in 5,000 results and rejects 25,000, so the gravest 5,000 are written and a
  notification says what was left out.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from speccheck.validator import VERSION
from speccheck.validator.engine.locate import Location
from speccheck.validator.engine.repository import project_root
from speccheck.validator.evidence.finding import Finding, Waiver
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.edition_names import edition_told, tailoring_of
from speccheck.validator.report.forms.places import uri_of
from speccheck.validator.report.forms.sarif_rules import LEVELS, descriptors
from speccheck.validator.report.problems import (
    MOST_PLACES,
    ORDER,
    Problem,
    advice,
    clean,
    is_in_file,
    place_name,
    problems,
    statement,
    unread_files,
)
from speccheck.validator.report.style import Style, counted
from speccheck.validator.report.told import Told
from speccheck.validator.run.run import Run

if TYPE_CHECKING:
    from speccheck.validator.evidence.finding import PlacedEdit

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
MOST_RESULTS = 5_000
_MOST_RELATED = 99  # GitHub shows a hundred locations of a result
_COMPLETE = (0, 1, 3)  # exit codes of runs that saw all that they were given
_KINDS = {"pass": "pass", "not_applicable": "notApplicable", "unknown": "open"}
_HELD = {"pass": "holds", "not_applicable": "does not apply"}

Row = dict[str, object]
_encode = partial(json.dumps, ensure_ascii=False)


class _Log(Record):
    """What results need: places of rules, the folder of the project, the edition."""

    indexes: dict[str, int]
    root: str
    edition: str


def report(told: Told, _: Style) -> Iterator[str]:
    """The whole log: one run, a result a line."""
    root = project_root()
    found = problems(told.run)
    kept = [
        one
        for one in found
        if not one.is_broken and (told.with_waived or not one.waiver)
    ]
    cut = [] if told.full else kept[MOST_RESULTS:]
    kept = kept if told.full else kept[:MOST_RESULTS]
    others = list(_others(told.run)) if told.full else []
    named = [one.finding for one in kept] + [finding for finding, _ in others]
    rules = descriptors(named, told.run)
    indexes = {name: index for index, name in enumerate(rules)}
    log = _Log(indexes, root, told.run.edition.id)
    broken = [one for one in found if one.is_broken]
    yield from _document(
        rules.values(),
        f"speccheck/{told.run.use}/",
        _invocation(told, [*_left_out(cut), *_notifications(told, broken, root)]),
        _properties(told),
        (
            *(_result(one, log) for one in kept),
            *(_other(finding, file, log) for finding, file in others),
        ),
    )


def failure_report(message: str, code: int) -> str:
    """The log of a run that could not begin: no results, and not successful."""
    invocation: Row = {
        "executionSuccessful": False,
        "exitCode": code,
        "exitCodeDescription": clean(message),
        "toolExecutionNotifications": [_notification("error", message)],
    }
    properties: Row = {"verdict": "error"}
    return "".join(_document((), "speccheck/", invocation, properties, ()))


def _document(
    rules: Iterable[Row],
    run_id: str,
    invocation: Row,
    properties: Row,
    results: Iterable[Row],
) -> Iterator[str]:
    yield f'{{\n"$schema": {_encode(SCHEMA)},\n"version": "2.1.0",\n"runs": [{{\n'
    yield '"tool": {"driver": {"name": "speccheck", '
    yield f'"semanticVersion": {_encode(VERSION)}, "rules": ['
    yield from _rows(rules)
    yield "]}},\n"
    head = {
        "automationDetails": {"id": run_id},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "properties": properties,
    }
    yield from (f"{_encode(key)}: {_encode(value)},\n" for key, value in head.items())
    yield '"results": ['
    yield from _rows(results)
    yield "]\n}]\n}\n"


def _rows(rows: Iterable[Row]) -> Iterator[str]:
    before = "\n"
    for row in rows:
        yield before + _encode(row)
        before = ",\n"
    if before != "\n":
        yield "\n"


def _properties(told: Told) -> Row:
    summary = told.summary
    return {
        "verdict": told.ending.verdict,
        "edition": {
            "id": told.run.edition.id,
            "sha256": told.run.edition.sha256,
            "tailoring": tailoring_of(told.run.edition),
        },
        "secondEdition": told.run.second and told.run.second.edition.id,
        "coverage": summary.coverage and round(summary.coverage, 4),
        "clauses": summary.clauses,
    }


def _invocation(told: Told, notifications: list[Row]) -> Row:
    return {
        "executionSuccessful": told.ending.code in _COMPLETE,
        "exitCode": told.ending.code,
        "exitCodeDescription": clean(told.ending.reason),
        "toolExecutionNotifications": notifications,
    }


def _notifications(told: Told, broken: Iterable[Problem], root: str) -> Iterator[Row]:
    """What could not be read or judged, which is no fault of any file."""
    for file in unread_files(told):
        where = {"physicalLocation": _artifact(file.path, root)}
        yield {**_notification("error", file.message), "locations": [where]}
    for one in broken:
        where = {"physicalLocation": _artifact(one.file, root)}
        yield {**_notification("error", statement(one)), "locations": [where]}
    for text in edition_told(told.run, full=told.full):
        yield _notification("warning", text)
    level = "note" if told.run.use == "ci" else "warning"
    for text in unknown_musts(told.run):
        yield _notification(level, text)


def unknown_musts(run: Run) -> Iterator[str]:
    """Each must that could not be judged, with what is missing."""
    plans: dict[str, int] = {}
    for plan in run.plans:
        for located in plan.findings:
            finding = located.finding
            if finding.outcome == "unknown" and finding.clause_level == "must":
                name = f"{finding.clause} {finding.rule or finding.title}"
                text = f"{name} could not be judged: {finding.message}"
                plans[text] = plans.get(text, 0) + 1
    for text, number in plans.items():
        yield f"{text} ({counted(number, 'plan')})" if len(run.plans) > 1 else text


def _left_out(cut: list[Problem]) -> Iterator[Row]:
    if cut:
        levels = [one.finding.level for one in cut]
        parts = [
            counted(levels.count(level), word)
            for level, word in zip(ORDER, ("error", "warning", "note"), strict=True)
            if level in levels
        ]
        text = (
            f"{counted(len(cut), 'result')} left out, the least grave "
            f"({', '.join(parts)}): code scanning keeps {MOST_RESULTS:,}"
        )
        yield _notification("warning", text)


def _notification(level: str, text: str) -> Row:
    return {"level": level, "message": {"text": _plain(text)}}


def _plain(text: str) -> str:
    """A text without links, which SARIF writes as `[text](target)`."""
    return clean(text).replace("](", "] (")


def _result(one: Problem, log: _Log) -> Row:
    finding = one.finding
    physical = _artifact(one.file, log.root)
    if one.at is not None:
        physical["region"] = _region(one.at)
    location: Row = {"physicalLocation": physical}
    logical = list(_logical(one))
    if logical:
        location["logicalLocations"] = logical
    fingerprints = {"speccheckFinding/v1": one.fingerprint}
    if one.at is None:
        fingerprints["primaryLocationLineHash"] = f"{one.fingerprint[:16]}:1"
    row: Row = {
        "ruleId": one.name,
        "ruleIndex": log.indexes[one.name],
        "level": LEVELS[finding.level],
        "message": {"text": "\n".join(_message(one))},
        "locations": [location],
        "partialFingerprints": fingerprints,
    }
    related = [
        _related(number, place, log.root)
        for number, place in enumerate(_related_places(one), 1)
    ]
    if related:
        row["relatedLocations"] = related
    if one.edits and finding.fix is not None:
        row["fixes"] = [_fix(finding.fix.says, one.edits, log.root)]
    if one.waiver:
        row["suppressions"] = [_suppression(one.waiver, log.root)]
    row["properties"] = _measured(finding, one.plans, log.edition)
    return row


def _fix(says: str, edits: "Iterable[PlacedEdit]", root: str) -> Row:
    """The edits that mend it, which GitHub passes over and viewers offer."""
    by_file: dict[str, list[Row]] = {}
    for edit in edits:
        replacement: Row = {
            "deletedRegion": {
                "startLine": edit.line,
                "startColumn": edit.column,
                "endLine": edit.end_line,
                "endColumn": edit.end_column,
            },
            "insertedContent": {"text": edit.text},
        }
        by_file.setdefault(edit.file, []).append(replacement)
    return {
        "description": {"text": _plain(says)},
        "artifactChanges": [
            {**_artifact(file, root), "replacements": replacements}
            for file, replacements in by_file.items()
        ],
    }


def _message(one: Problem) -> Iterator[str]:
    """All that is to be said; viewers show a related place only where it is linked."""
    yield from map(_plain, (statement(one), *advice(one.finding)))
    names = [
        f"[{_linked(place)}]({number})"
        for number, place in enumerate(_related_places(one)[:MOST_PLACES], 1)
    ]
    names += [_linked(place) for place in one.others if not is_in_file(place)]
    if names:
        yield f"also at: {', '.join(names)}"
    if one.plans > 1:
        yield f"the same in {one.plans:,} plans"


def _related_places(one: Problem) -> list[Location]:
    return list(filter(is_in_file, one.others))[:_MOST_RELATED]


def _linked(place: Location) -> str:
    """The name of a place, in brackets."""
    return clean(place_name(place)).replace("[", "(").replace("]", ")")


def _other(finding: Finding, file: str, log: _Log) -> Row:
    """What holds, does not apply, or could not be judged: for `--full`."""
    name = finding.rule or finding.clause
    text = finding.message or _HELD.get(finding.outcome, "could not be judged")
    subject = f"{finding.subject}: " if finding.subject else ""
    return {
        "ruleId": name,
        "ruleIndex": log.indexes[name],
        "kind": _KINDS[finding.outcome],
        "level": "none",
        "message": {"text": _plain(subject + text)},
        "locations": [{"physicalLocation": _artifact(file, log.root)}],
        "properties": _measured(finding, 1, log.edition),
    }


def _others(run: Run) -> Iterator[tuple[Finding, str]]:
    for plan in run.plans:
        for located in plan.findings:
            if located.finding.outcome in _KINDS:
                yield located.finding, plan.files[0].path


def _measured(finding: Finding, plans: int, edition: str) -> Row:
    known = {
        "clause": finding.clause,
        "clauseLevel": finding.clause_level,
        "edition": finding.edition or edition,
        "confidence": finding.confidence,
        "measured": _value(finding.measured),
        "required": _value(finding.required),
        "action": finding.action,
        "missing": list(finding.missing),
        "plans": plans if plans > 1 else None,
    }
    return {key: value for key, value in known.items() if value not in (None, [])}


def _value(value: str | float | None) -> str | float | None:
    return clean(value) if isinstance(value, str) else value


def _artifact(file: str, root: str) -> Row:
    return {"artifactLocation": {"uri": uri_of(file, root)}}


def _region(at: Location) -> Row:
    region: Row = {"startLine": at.line, "startColumn": at.column}
    if at.length:
        region["endColumn"] = at.column + at.length
    return region


def _logical(one: Problem) -> Iterator[Row]:
    """The part of a machine, and the key or leaf."""
    subject, key = clean(one.finding.subject), clean(one.key)
    if subject:
        full = f"{clean(one.path)}/{subject}"
        yield {"name": subject, "fullyQualifiedName": full, "kind": "resource"}
    if key:
        yield {"fullyQualifiedName": key, "kind": "property"}


def _related(number: int, place: Location, root: str) -> Row:
    physical = _artifact(place.file, root)
    if place.line:
        physical["region"] = _region(place)
    text = _plain(place.key or place.file)
    return {"id": number, "physicalLocation": physical, "message": {"text": text}}


def _suppression(waiver: Waiver, root: str) -> Row:
    row: Row = {
        "kind": "inSource" if waiver.kind == "comment" else "external",
        "status": "accepted",
        "justification": clean(waiver.reason or "no reason given"),
    }
    if waiver.place.file:
        physical = _artifact(waiver.place.file, root)
        if waiver.place.span is not None:
            physical["region"] = {"startLine": waiver.place.span.line}
        row["location"] = {"physicalLocation": physical}
    known = {"until": waiver.until, "owner": waiver.owner, "ticket": waiver.ticket}
    named = {key: clean(value) for key, value in known.items() if value}
    if named:
        row["properties"] = named
    return row
