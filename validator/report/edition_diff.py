"""What differs between two editions, as text and as `speccheck-edition-diff/1`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from speccheck.validator.editions.difference import (
    KINDS,
    EditionChange,
    Kind,
    Weight,
    heaviest,
    weight_between,
)
from speccheck.validator.editions.edition import Edition
from speccheck.validator.editions.report_by_edition import (
    Change,
    Otherwise,
    ReportByEdition,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.serialise import (
    TOOL,
    CompiledEdition,
    Tool,
    alike,
    document_text,
)
from speccheck.validator.report.style import counted, printable, wrap
from speccheck.validator.report.summary import LEVEL_WORDS

_Scalar = str | int | float
_Value = _Scalar | list[_Scalar] | None
_WIDTH = 80
_SHORT_DIGEST = 12
_TITLES: dict[Kind, str] = {
    "added": "Added",
    "withdrawn": "Withdrawn",
    "deprecated": "Deprecated",
    "level": "Levels",
    "number": "Numbers",
    "application": "Where clauses apply, and by which evidence",
    "profile": "Profiles",
    "stage": "Stage",
    "wording": "Wording",
}
_SUMMARY: dict[Kind, tuple[str, str]] = {
    "added": ("clause", "new"),
    "withdrawn": ("clause", "withdrawn"),
    "deprecated": ("clause", "deprecated"),
    "level": ("clause", "of another level"),
    "number": ("clause", "with another number"),
    "application": ("clause", "for other jobs or other evidence"),
    "profile": ("profile", "changed"),
    "wording": ("clause", "worded otherwise"),
}
_RAISED = re.compile(r"raises (\S+?)((?: with [^\s:]+)*): (.*)")
_NUMBER_FIELD = re.compile(r"\w+: another ")
_FIELDS = {"remedies": "remedy", "origin": "sources"}
_CHANGES = {
    "would_fail": "would fail",
    "would_pass": "would pass",
    "weighs_otherwise": "weighs otherwise",
    "not_judged": "judged no longer",
    "not_said": "cannot be said",
}


class EditionsCompared(Record):
    """Two editions, what differs, and what that makes of a report.

    file: of the report; empty without one.
    """

    before: Edition
    after: Edition
    differences: tuple[EditionChange, ...]
    file: str = ""
    report: ReportByEdition | None = None

    @property
    def weight(self) -> Weight:
        """The heaviest of the differences."""
        return heaviest(difference.weight for difference in self.differences)


def edition_diff_text(editions_compared: EditionsCompared) -> str:
    """Return the differences by kind, and the findings of a report that they change."""
    lines = [*_head(editions_compared), *_summary(editions_compared.differences), ""]
    clauses = {**editions_compared.before.clauses, **editions_compared.after.clauses}
    titles = {name: clause.title for name, clause in clauses.items()}
    for kind in KINDS:
        rows = [
            difference
            for difference in editions_compared.differences
            if difference.kind == kind
        ]
        if rows:
            lines.append(_TITLES[kind])
            lines += (
                _reworded(editions_compared, rows)
                if kind == "wording"
                else _grouped(rows, titles)
            )
            lines.append("")
    if editions_compared.report is not None:
        lines += [*_of_report(editions_compared, editions_compared.report), ""]
    lines += _digests(editions_compared)
    return "\n".join(lines) + "\n"


def _grouped(rows: Sequence[EditionChange], titles: Mapping[str, str]) -> Iterator[str]:
    """Yield differences below what they weigh, and why, each reason once."""
    reasons: dict[tuple[Weight, str], dict[str, list[str]]] = {}
    for row in rows:
        text, raised = _named(row, titles), _RAISED.fullmatch(row.text)
        where = ""
        if raised is not None:
            text = f"{row.subject}  raises {raised[1]}: {raised[3]}"
            where = " ".join(raised[2].split(" with ")).strip()
        group = reasons.setdefault((row.weight, row.reason), {})
        group.setdefault(text, []).append(where)
    for (weight, reason), texts in reasons.items():
        yield f"  {weight}, {printable(reason)}:"
        for text, places in texts.items():
            names = dict.fromkeys(name for place in places for name in place.split())
            where = f" ({', '.join(names)})" if names else ""
            yield _wrapped(text + where)


def _named(row: EditionChange, titles: Mapping[str, str]) -> str:
    """Return a difference behind its subject; a level with the title of the clause."""
    if row.levels is None:
        return f"{row.subject}  {row.text}"
    old, new = (LEVEL_WORDS[level] for level in row.levels)
    return f"{row.subject}  {old} -> {new}: {titles.get(row.subject, '')}"


def _reworded(
    editions_compared: EditionsCompared, rows: Sequence[EditionChange]
) -> Iterator[str]:
    """Yield requirements as they were and are, then who else differs in words."""
    before, after = editions_compared.before, editions_compared.after
    others: dict[str, dict[str, None]] = {}
    for row in rows:
        fields = row.text.removeprefix("reworded: ").split(", ")
        if row.text.startswith("reworded: ") and "requirement" in fields:
            yield f"  {row.subject}"
            for word, edition in (("was", before), ("now", after)):
                text = edition.clauses[row.subject].requirement_text()
                yield _wrapped(f"  {word}  {text}")
        if row.text.startswith("reworded: "):
            changed = [_FIELDS.get(name, name) for name in fields]
        elif _NUMBER_FIELD.match(row.text) is not None:
            changed = [f"{_NUMBER_FIELD.sub('', row.text)} of a number"]
        else:
            changed = [row.text]
        for what in changed:
            others.setdefault(what, {})[row.subject] = None
    others.pop("requirement", None)
    for what, subjects in others.items():
        yield _wrapped(f"{what}: {', '.join(subjects)}")


def _head(editions_compared: EditionsCompared) -> Iterator[str]:
    before, after = editions_compared.before, editions_compared.after
    yield (
        f"edition {after.id} ({after.stage}) against edition {before.id} "
        f"({before.stage})"
    )
    if not editions_compared.differences:
        yield "Nothing differs."
        return
    claims = weight_between(editions_compared.before.id, editions_compared.after.id)
    text = f"; the ids claim {claims}" if claims else ""
    count = counted(len(editions_compared.differences), "difference")
    yield f"{count}, together {editions_compared.weight}{text}"


def _digests(editions_compared: EditionsCompared) -> Iterator[str]:
    """Yield by which content the two editions are known."""
    for edition in (editions_compared.before, editions_compared.after):
        yield f"edition {edition.id}  sha256 {edition.sha256[:_SHORT_DIGEST]}"


def _summary(rows: Sequence[EditionChange]) -> Iterator[str]:
    """Yield what the differences come to, for who knows neither edition."""
    if not rows:
        return
    heavy = {row.subject for row in rows if row.weight == "MAJOR"}
    yield (
        f"  {counted(len(heavy), 'subject')} may fail what passed before"
        if heavy
        else "  nothing that passes by the first edition fails by the second"
    )
    for kind, what in _SUMMARY.items():
        subjects = dict.fromkeys(row.subject for row in rows if row.kind == kind)
        if subjects:
            count = counted(len(subjects), what[0])
            yield _wrapped(f"{count} {what[1]}{_moves(rows, kind)}")


def _moves(rows: Sequence[EditionChange], kind: Kind) -> str:
    """Return how many levels moved from which to which; empty for other kinds."""
    moves: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.kind == kind == "level" and row.levels is not None:
            moves[row.levels] = moves.get(row.levels, 0) + 1
    texts = (
        f"{number} {LEVEL_WORDS[old]} -> {LEVEL_WORDS[new]}"
        for (old, new), number in moves.items()
    )
    return f": {', '.join(texts)}" if moves else ""


def _of_report(
    editions_compared: EditionsCompared, report: ReportByEdition
) -> Iterator[str]:
    yield f"{printable(editions_compared.file)} by edition {editions_compared.after.id}"
    for change, words in _CHANGES.items():
        for finding in report.findings:
            if finding.change == change:
                yield _wrapped(f"{finding.clause}  {words}: {_finding(finding)}")
    yield f"  {counted(report.unchanged, 'finding')} come out as they did"
    if report.unseen:
        names = ", ".join(report.unseen)
        yield _wrapped(f"not in it, and judged where they apply: {names}")
    if not report.is_full:
        yield _wrapped(
            "what passed is not listed in it, and not looked at: write the report with "
            "--full"
        )


def _finding(otherwise: Otherwise) -> str:
    where = ", ".join(otherwise.files) + (
        f", {otherwise.subject}" if otherwise.subject else ""
    )
    return printable(
        f"{otherwise.reason} [{otherwise.outcome}; {otherwise.rule or 'no rule'}; "
        f"{where}]"
    )


def _wrapped(text: str) -> str:
    first, *rest = wrap(printable(text), _WIDTH - 2, "").splitlines()
    return "\n".join([f"  {first}", *(f"    {text}" for text in _again(rest))])


def _again(lines: list[str]) -> list[str]:
    """Return the lines after the first, narrower by the depth of their indent."""
    return wrap(" ".join(lines), _WIDTH - 4, "").splitlines() if lines else []


class EditionNumber(Record):
    """A number that changed; key: of which profile or table, empty for the default.

    direction: upper, what is measured must not be more; lower, not less; null, the
    requirement does not say so plainly.
    """

    name: str
    key: str
    before: _Value
    after: _Value
    unit: str
    direction: Literal["upper", "lower"] | None
    source: str
    confidence: str


class EditionLevels(Record):
    """The level of a clause that has another one."""

    before: str
    after: str


class EditionDifference(Record):
    """One difference; subject: a clause, a profile, or `edition`."""

    kind: Kind
    subject: str
    text: str
    weight: Weight
    reason: str
    number: EditionNumber | None
    levels: EditionLevels | None


class EditionFinding(Record):
    """A finding of the report that comes out otherwise, or may (`not_said`)."""

    clause: str
    rule: str | None
    subject: str | None
    plan: int
    files: tuple[str, ...]
    outcome: str
    change: Change
    clause_level: str
    reason: str


class EditionReport(Record):
    """The report by the second edition.

    unseen: clauses that it does not speak of, and that are judged where they apply.
    is_full: whether it lists what passed: what it does not list is not looked at.
    """

    file: str
    findings: tuple[EditionFinding, ...]
    unchanged: int
    unseen: tuple[str, ...]
    is_full: bool


class EditionDiff(Record):
    """The whole document. claims: what the ids say; null: the second is no later."""

    schema_name: Literal["speccheck-edition-diff/1"]
    tool: Tool
    before: CompiledEdition
    after: CompiledEdition
    weight: Weight
    claims: Weight | None
    differences: tuple[EditionDifference, ...]
    report: EditionReport | None


def edition_diff_json(editions_compared: EditionsCompared) -> str:
    """Return the whole document."""
    report = editions_compared.report
    document = EditionDiff(
        schema_name="speccheck-edition-diff/1",
        tool=TOOL,
        before=alike(CompiledEdition, editions_compared.before),
        after=alike(CompiledEdition, editions_compared.after),
        weight=editions_compared.weight,
        claims=weight_between(editions_compared.before.id, editions_compared.after.id),
        differences=tuple(
            _difference(difference) for difference in editions_compared.differences
        ),
        report=report and _report(editions_compared.file, report),
    )
    return document_text(document, indent=2, ensure_ascii=False)


def _difference(difference: EditionChange) -> EditionDifference:
    number = difference.number
    return alike(
        EditionDifference,
        difference,
        number=number
        and alike(EditionNumber, number, direction=number.direction or None),
        levels=difference.levels and EditionLevels(*difference.levels),
    )


def _report(file: str, report: ReportByEdition) -> EditionReport:
    findings = [
        alike(
            EditionFinding,
            finding,
            rule=finding.rule or None,
            subject=finding.subject or None,
            clause_level=finding.weight,
        )
        for finding in report.findings
    ]
    return alike(EditionReport, report, file=file, findings=findings)
