"""SARIF 2.1.0, for code scanning and for viewers of static analysis.

GitHub reads only a part of the format, and its habits decide what is written:

- It knows no `kind`: whatever is a result becomes an alert, also what holds or could
  not be judged. So a clause that is unknown is no result but a notification of the
  tool; only `--full`, which is not for GitHub, adds results of the other kinds.
- It does not honour `suppressions`: a result that is waived would be an open alert. So
  waived failures are omitted, unless `--sarif-include-waived` asks for them.
- A result needs a physical location; machines and their parts, which have none, are
  shown at the snapshot and named as logical locations.
- It tells alerts apart by `primaryLocationLineHash`, which its upload action works out
  from the line. A result about a whole file has no line to work from, so there it is
  given, and stays as it is for the next snapshot of the same machine.
- It takes in 5,000 results and rejects 25,000, so the gravest 5,000 are written and a
  notification says what was omitted.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from speccheck.validator import VERSION
from speccheck.validator.editions.edition import Clause, Edition
from speccheck.validator.engine.locate import Location
from speccheck.validator.engine.paths import path_within, project_root
from speccheck.validator.engine.rule_index import RuleEntry, rule_entries
from speccheck.validator.evidence.finding import Finding, Waiver
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.edition_names import (
    edition_of,
    edition_remarks,
    tailoring_of,
)
from speccheck.validator.report.explain import rule_page, rule_text
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
from speccheck.validator.rule import Confidence, Rule
from speccheck.validator.run.run import RunResult

if TYPE_CHECKING:
    from speccheck.validator.evidence.finding import PlacedEdit


LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_LEVEL_OF_CLAUSE = {"must": "error", "should": "warning", "may": "note"}
# As code scanning names them; a recommendation is less than a warning.
_SEVERITIES = {"error": "error", "warning": "warning", "note": "recommendation"}
_PRECISIONS: dict[Confidence, str] = {
    "exact": "very-high",
    "lower_bound": "very-high",
    "calibrated": "medium",
    "advisory": "low",
}
_ADVICE: tuple[Confidence, ...] = ("calibrated", "advisory")
_MOST_LETTERS = 1024  # of a description, on GitHub


def descriptors(
    findings: Iterable[Finding], run: RunResult
) -> dict[str, dict[str, object]]:
    """Return a description of each of these findings' rules or clauses, by id."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.rule or finding.clause, finding)
    entries = _entries(finding.rule for finding in first.values() if finding.rule)
    return {
        name: _descriptor(
            name, first[name], entries.get(name), edition_of(run, first[name])
        )
        for name in sorted(first)
    }


def _entries(names: Iterable[str]) -> Mapping[str, RuleEntry]:
    """Return the rules by name; those of plugins too where a name is none of ours."""
    known = {rule_entry.name: rule_entry for rule_entry in rule_entries()}
    wanted = list(names)
    if any(name not in known for name in wanted):
        from speccheck.validator.engine.rule_index import plugin_rules  # noqa: PLC0415 - seldom

        known.update({plugin_rule.name: plugin_rule for plugin_rule in plugin_rules()})
    return {name: known[name] for name in wanted if name in known}


def _descriptor(
    name: str, finding: Finding, entry: RuleEntry | None, edition: Edition
) -> dict[str, object]:
    clause = edition.clauses[finding.clause]
    rule = entry.load() if entry is not None else None
    title = rule_text(rule).title if rule is not None else clause.title
    area = entry.area if entry is not None else edition.areas.get(clause.area, "")
    confidence = entry.confidence if entry is not None else "exact"
    level = _LEVEL_OF_CLAUSE[clause.level]
    if level == "error" and confidence in _ADVICE:
        level = "warning"
    return {
        "id": name,
        "name": _pascal(name),
        "shortDescription": {"text": title},
        "fullDescription": {"text": clause.requirement_text()[:_MOST_LETTERS]},
        "help": {"text": _help(clause), "markdown": _markdown(clause, rule, edition)},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": [tag for tag in (area, clause.id, clause.level) if tag],
            "precision": _PRECISIONS[confidence],
            "problem.severity": _SEVERITIES[level],
        },
    }


def _pascal(name: str) -> str:
    """Return `RingForcedAtScale`: how the names of rules are written in SARIF."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _help(clause: Clause) -> str:
    return "\n\n".join(
        f"{heading}\n{text}" for heading, text in _paragraphs(clause).items() if text
    )


def _paragraphs(clause: Clause) -> dict[str, str]:
    return {
        f"Requirement {clause.id} ({clause.level})": clause.requirement_text(),
        "Why": clause.rationale,
        "What to change": clause.remedy,
    }


def _markdown(clause: Clause, rule: Rule | None, edition: Edition) -> str:
    if rule is not None:
        return rule_page(rule, edition)
    parts = [f"# {clause.id}: {clause.title}"]
    for heading, text in _paragraphs(clause).items():
        parts += [f"## {heading}", text]
    return "\n\n".join(parts) + "\n"


SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
MOST_RESULTS = 5_000
_MOST_RELATED = 99  # GitHub shows a hundred locations of a result
_COMPLETE = (0, 1, 3)  # exit codes of runs that saw all that they were given
_KINDS = {"pass": "pass", "not_applicable": "notApplicable", "unknown": "open"}
_HELD = {"pass": "passed", "not_applicable": "does not apply"}

Row = dict[str, object]
_encode = partial(json.dumps, ensure_ascii=False)


class _Log(Record):
    """What results need: places of rules, the folder of the project, the edition."""

    indexes: dict[str, int]
    root: str
    edition: str


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the whole log: one run, a result a line."""
    root = project_root()
    result = problems(context.run)
    kept = [
        problem
        for problem in result
        if not problem.is_broken and (context.with_waived or not problem.waiver)
    ]
    cut = [] if context.full else kept[MOST_RESULTS:]
    kept = kept if context.full else kept[:MOST_RESULTS]
    others = list(_others(context.run)) if context.full else []
    named = [problem.finding for problem in kept] + [finding for finding, _ in others]
    rules = descriptors(named, context.run)
    indexes = {name: index for index, name in enumerate(rules)}
    log = _Log(indexes, root, context.run.edition.id)
    broken = [problem for problem in result if problem.is_broken]
    yield from _document(
        rules.values(),
        f"speccheck/{context.run.use}/",
        _invocation(context, [*_left_out(cut), *_notifications(context, broken, root)]),
        _properties(context),
        (
            *(_result(problem, log) for problem in kept),
            *(_other(finding, file, log) for finding, file in others),
        ),
    )


def failure_report(message: str, code: int) -> str:
    """Return the log of a run that could not begin: no results, and not successful."""
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


def _properties(context: ReportContext) -> Row:
    summary = context.summary
    return {
        "verdict": context.ending.verdict,
        "edition": {
            "id": context.run.edition.id,
            "sha256": context.run.edition.sha256,
            "tailoring": tailoring_of(context.run.edition),
        },
        "secondEdition": context.run.second and context.run.second.edition.id,
        "requiredClauses": summary.required_clauses._asdict(),
        "coverage": summary.coverage and round(summary.coverage, 4),
        "clauses": summary.clauses,
    }


def _invocation(context: ReportContext, notifications: list[Row]) -> Row:
    return {
        "executionSuccessful": context.ending.code in _COMPLETE,
        "exitCode": context.ending.code,
        "exitCodeDescription": clean(context.ending.reason),
        "toolExecutionNotifications": notifications,
    }


def _notifications(
    context: ReportContext, broken: Iterable[Problem], root: str
) -> Iterator[Row]:
    """Yield what could not be read or judged, which is no fault of any file."""
    for file in unread_files(context):
        where = {"physicalLocation": _artifact(file.path, root)}
        yield {**_notification("error", file.message), "locations": [where]}
    for problem in broken:
        where = {"physicalLocation": _artifact(problem.file, root)}
        yield {**_notification("error", statement(problem)), "locations": [where]}
    for text in edition_remarks(context.run, full=context.full):
        yield _notification("warning", text)
    level = "note" if context.run.use == "ci" else "warning"
    for text in unknown_musts(context.run):
        yield _notification(level, text)


def unknown_musts(run: RunResult) -> Iterator[str]:
    """Yield each must that could not be judged, with what is missing."""
    plans: dict[str, int] = {}
    for plan in run.plans:
        for located in plan.findings:
            finding = located.finding
            if finding.outcome == "unknown" and finding.clause_level == "must":
                name = f"{finding.clause} {finding.rule or finding.title}"
                text = f"{name} could not run: {finding.message}"
                plans[text] = plans.get(text, 0) + 1
    for text, number in plans.items():
        yield f"{text} ({counted(number, 'plan')})" if len(run.plans) > 1 else text


def _left_out(cut: list[Problem]) -> Iterator[Row]:
    if cut:
        levels = [problem.finding.level for problem in cut]
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
    """Return a text without links, which SARIF writes as `[text](target)`."""
    return clean(text).replace("](", "] (")


def _result(problem: Problem, log: _Log) -> Row:
    finding = problem.finding
    physical = _artifact(problem.file, log.root)
    if problem.at is not None:
        physical["region"] = _region(problem.at)
    location: Row = {"physicalLocation": physical}
    logical = list(_logical(problem))
    if logical:
        location["logicalLocations"] = logical
    fingerprints = {"speccheckFinding/v1": problem.fingerprint}
    if problem.at is None:
        fingerprints["primaryLocationLineHash"] = f"{problem.fingerprint[:16]}:1"
    row: Row = {
        "ruleId": problem.name,
        "ruleIndex": log.indexes[problem.name],
        "level": LEVELS[finding.level],
        "message": {"text": "\n".join(_message(problem))},
        "locations": [location],
        "partialFingerprints": fingerprints,
    }
    related = [
        _related(number, place, log.root)
        for number, place in enumerate(_related_places(problem), 1)
    ]
    if related:
        row["relatedLocations"] = related
    if problem.edits and finding.fix is not None:
        row["fixes"] = [_fix(finding.fix.says, problem.edits, log.root)]
    if problem.waiver:
        row["suppressions"] = [_suppression(problem.waiver, log.root)]
    row["properties"] = _measured(finding, problem.plans, log.edition)
    return row


def _fix(says: str, edits: "Iterable[PlacedEdit]", root: str) -> Row:
    """Return the edits that mend it, which GitHub passes over and viewers offer."""
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


def _message(problem: Problem) -> Iterator[str]:
    """Yield all that is to be said; viewers show a related place only where linked."""
    yield from map(_plain, (statement(problem), *advice(problem.finding)))
    names = [
        f"[{_linked(place)}]({number})"
        for number, place in enumerate(_related_places(problem)[:MOST_PLACES], 1)
    ]
    names += [_linked(place) for place in problem.others if not is_in_file(place)]
    if names:
        yield f"also at: {', '.join(names)}"
    if problem.plans > 1:
        yield f"the same in {problem.plans:,} plans"


def _related_places(problem: Problem) -> list[Location]:
    return list(filter(is_in_file, problem.others))[:_MOST_RELATED]


def _linked(place: Location) -> str:
    """Return the name of a place, in brackets."""
    return clean(place_name(place)).replace("[", "(").replace("]", ")")


def _other(finding: Finding, file: str, log: _Log) -> Row:
    """Return what holds, does not apply, or could not be judged: for `--full`."""
    name = finding.rule or finding.clause
    text = finding.message or _HELD.get(finding.outcome, "could not run")
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


def _others(run: RunResult) -> Iterator[tuple[Finding, str]]:
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


def _logical(problem: Problem) -> Iterator[Row]:
    """Yield the part of a machine, and the key or leaf."""
    subject, key = clean(problem.finding.subject), clean(problem.key)
    if subject:
        full = f"{clean(problem.path)}/{subject}"
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


_KEPT = "/-._~"  # every other character is written as %XX, a colon too


def uri_of(file: str, root: str) -> str:
    """Return a file as a URI: relative to the project's root, or `file:` outside it."""
    inside = path_within(file, root)
    if inside is not None:
        return quote(os.fsencode(inside), safe=_KEPT)
    return "file://" + quote(os.fsencode(os.path.abspath(file)), safe=_KEPT)
