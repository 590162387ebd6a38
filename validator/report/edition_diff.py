"""What differs between two editions, as text and as `speccheck-edition-diff/1`."""

import json
from collections.abc import Iterator

from speccheck.validator import VERSION
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
    Otherwise,
    ReportByEdition,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import counted, printable, wrap

SCHEMA = "speccheck-edition-diff/1"
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


def edition_diff_json(found: EditionsCompared) -> str:
    """The whole document."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "before": _name(found.before),
        "after": _name(found.after),
        "weight": found.weight,
        "claims": weight_between(found.before.id, found.after.id),
        "differences": [_difference(one) for one in found.differences],
        "report": _report(found),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _name(edition: Edition) -> dict[str, str]:
    return {"id": edition.id, "stage": edition.stage, "sha256": edition.sha256}


def _difference(one: Difference) -> dict[str, object]:
    number = None
    if one.number is not None:
        number = {**one.number._asdict(), "direction": one.number.direction or None}
    levels = one.levels and dict(zip(("before", "after"), one.levels, strict=True))
    return {**one._asdict(), "number": number, "levels": levels}


def _report(found: EditionsCompared) -> dict[str, object] | None:
    report = found.report
    if report is None:
        return None
    return {
        "file": found.file,
        "findings": [
            {
                "clause": one.clause,
                "rule": one.rule or None,
                "subject": one.subject or None,
                "plan": one.plan,
                "files": list(one.files),
                "outcome": one.outcome,
                "change": one.change,
                "clause_level": one.weight,
                "reason": one.reason,
            }
            for one in report.findings
        ],
        "unchanged": report.unchanged,
        "unseen": list(report.unseen),
        "is_full": report.is_full,
    }
