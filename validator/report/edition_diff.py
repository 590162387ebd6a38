"""What differs between two editions, as text and as `speccheck-edition-diff/1`."""

from collections.abc import Iterator
from typing import Literal

from speccheck.validator.editions.difference import (
    KINDS,
    Difference,
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
    differences: tuple[Difference, ...]
    file: str = ""
    report: ReportByEdition | None = None

    @property
    def weight(self) -> Weight:
        """The heaviest of the differences."""
        return heaviest(one.weight for one in self.differences)


def edition_diff_text(found: EditionsCompared) -> str:
    """The differences by kind, and the findings of a report that they change."""
    lines = [*_head(found), ""]
    for kind in KINDS:
        rows = [one for one in found.differences if one.kind == kind]
        if rows:
            lines.append(_TITLES[kind])
            for one in rows:
                text = f"{one.subject}  {one.text} ({one.weight}: {one.reason})"
                lines.append(_wrapped(text))
            lines.append("")
    if found.report is not None:
        lines += [*_of_report(found, found.report), ""]
    return "\n".join(lines[:-1]) + "\n"


def _head(found: EditionsCompared) -> Iterator[str]:
    for word, one in (("from", found.before), ("to", found.after)):
        digest = one.sha256[:_SHORT_DIGEST]
        yield f"{word:<5}edition {one.id} ({one.stage}), sha256 {digest}"
    if not found.differences:
        yield "Nothing differs."
        return
    claims = weight_between(found.before.id, found.after.id)
    said = f"; the ids claim {claims}" if claims else ""
    count = counted(len(found.differences), "difference")
    yield f"{count}, together {found.weight}{said}"


def _of_report(found: EditionsCompared, report: ReportByEdition) -> Iterator[str]:
    yield f"{printable(found.file)} by edition {found.after.id}"
    for change, words in _CHANGES.items():
        for one in report.findings:
            if one.change == change:
                yield _wrapped(f"{one.clause}  {words}: {_finding(one)}")
    yield f"  {counted(report.unchanged, 'finding')} come out as they did"
    if report.unseen:
        names = ", ".join(report.unseen)
        yield _wrapped(f"not in it, and judged where they apply: {names}")
    if not report.is_full:
        yield _wrapped(
            "what passed is not listed in it, and not looked at: write the report with "
            "--full"
        )


def _finding(one: Otherwise) -> str:
    where = ", ".join(one.files) + (f", {one.subject}" if one.subject else "")
    return printable(f"{one.reason} [{one.outcome}; {one.rule or 'no rule'}; {where}]")


def _wrapped(text: str) -> str:
    first, *rest = wrap(printable(text), _WIDTH - 2, "").splitlines()
    return "\n".join([f"  {first}", *(f"    {one}" for one in _again(rest))])


def _again(lines: list[str]) -> list[str]:
    """The lines after the first, narrower by the depth of their indent."""
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


def edition_diff_json(found: EditionsCompared) -> str:
    """Return the whole document."""
    report = found.report
    document = EditionDiff(
        schema_name="speccheck-edition-diff/1",
        tool=TOOL,
        before=alike(CompiledEdition, found.before),
        after=alike(CompiledEdition, found.after),
        weight=found.weight,
        claims=weight_between(found.before.id, found.after.id),
        differences=tuple(_difference(one) for one in found.differences),
        report=report and _report(found.file, report),
    )
    return document_text(document, indent=2, ensure_ascii=False)


def _difference(found: Difference) -> EditionDifference:
    number = found.number
    return alike(
        EditionDifference,
        found,
        number=number
        and alike(EditionNumber, number, direction=number.direction or None),
        levels=found.levels and EditionLevels(*found.levels),
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
