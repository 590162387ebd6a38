"""What of a report would come out otherwise by another edition.

Nothing is judged again: the report tells what was measured and what was required, and
the difference between two editions tells what is required now. Where that does not
settle it, it is said so, with the reason.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from speccheck.validator.editions.difference import (
    EditionChange,
    NumberChange,
    added_clauses,
    raised_levels,
)
from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.record import Record

Change: TypeAlias = Literal[
    "would_pass", "would_fail", "weighs_otherwise", "not_judged", "not_said"
]
_RANK = {"may": 0, "should": 1, "must": 2}
_TEXTS = ("clause", "clause_level", "outcome")  # that each finding has
_JUDGED = ("pass", "fail")


class OtherwiseReport(ValueError):  # noqa: N818 - says what is wrong with the input
    """A file that is no report of speccheck, or one by another edition."""


class Otherwise(Record):
    """A finding that another edition changes, or may change (`not_said`).

    plan: which of the report's; files: of that plan. weight: must, should or may of
    the other edition.
    """

    clause: str
    rule: str
    subject: str
    plan: int
    files: tuple[str, ...]
    outcome: str
    change: Change
    weight: str
    reason: str


class ReportByEdition(Record):
    """A report as another edition would have it.

    unchanged: findings that come out as they did. unseen: clauses that the report does
    not speak of, and that are judged by the other edition wherever they apply.
    is_full: whether it lists what passed.
    """

    findings: tuple[Otherwise, ...]
    unchanged: int
    unseen: tuple[str, ...]
    is_full: bool


def by_edition(
    report: Mapping[str, Any],
    before: Edition,
    after: Edition,
    differences: Sequence[EditionChange],
) -> ReportByEdition:
    """Lay the differences of two editions over a report of the first.

    Raises OtherwiseReport for another document, or a report by another edition.
    """
    _verify(report, before)
    by_clause: dict[str, list[EditionChange]] = {}
    for difference in differences:
        by_clause.setdefault(difference.subject, []).append(difference)
    touched = _touched(before, after, differences)
    other_outcomes: list[Otherwise] = []
    unchanged = 0
    for row in report["findings"]:
        if row.get("spec") not in (None, before.id):
            continue  # of a second edition, that only warns
        other = _otherwise(row, after, by_clause, touched, report["plans"])
        if other is None:
            unchanged += 1
        else:
            other_outcomes.append(other)
    added = {
        difference.subject for difference in differences if difference.kind == "added"
    }
    unseen = {name for name in added if after.clauses[name].status == "core"}
    unseen |= touched.judged & added
    outcomes = {row["outcome"] for row in report["findings"]}
    return ReportByEdition(
        tuple(other_outcomes), unchanged, tuple(sorted(unseen)), "pass" in outcomes
    )


def _verify(report: Mapping[str, Any], edition: Edition) -> None:
    if report.get("schema") != "speccheck-report/1":
        message = "no report of speccheck: give what --output json writes"
        raise OtherwiseReport(message)
    rows = (*_rows(report.get("findings")), *_rows(report.get("plans")))
    named = report.get("edition")
    if named is None:
        message = "a report of a run that judged nothing"
        raise OtherwiseReport(message)
    if not all(isinstance(row, dict) for row in rows) or not all(
        isinstance(row.get(key), str) for row in report["findings"] for key in _TEXTS
    ):
        message = "no report of speccheck: its findings are of another form"
        raise OtherwiseReport(message)
    if not isinstance(named, dict) or named.get("sha256") != edition.sha256:
        name = f"{named.get('id')}" if isinstance(named, dict) else "another one"
        digest = str(named.get("sha256"))[:12] if isinstance(named, dict) else "none"
        message = (
            f"judged by edition {name}, sha256 {digest}: give it with the edition that "
            f"it was judged by, not {edition.id}, sha256 {edition.sha256[:12]}"
        )
        raise OtherwiseReport(message)


def _rows(value: object) -> list[Any]:
    if not isinstance(value, list):
        message = "no report of speccheck: findings or plans are missing"
        raise OtherwiseReport(message)
    return value


class _Touched(Record):
    """Clauses that profiles treat otherwise; which profiles held is not in a report.

    judged: that are judged, or omitted, where they were not. raised: to another level.
    """

    judged: frozenset[str]
    raised: frozenset[str]


def _touched(
    before: Edition, after: Edition, differences: Sequence[EditionChange]
) -> _Touched:
    profiles = {
        difference.subject for difference in differences if difference.kind == "profile"
    }
    judged: set[str] = set()
    raised: set[str] = set()
    for name in profiles & set(before.profiles) & set(after.profiles):
        profile, two = before.profiles[name], after.profiles[name]
        judged |= {clause for _, clause in added_clauses(profile) ^ added_clauses(two)}
        left_out = set(profile.not_applicable) ^ set(two.not_applicable)
        judged |= {c.id for c in after.clauses.values() if left_out & {c.id, c.area}}
        levels = set(raised_levels(profile).items()) ^ set(raised_levels(two).items())
        raised |= {clause for (clause, _, _), _ in levels}
    return _Touched(frozenset(judged), frozenset(raised))


def _otherwise(
    row: Mapping[str, Any],
    after: Edition,
    by_clause: Mapping[str, Sequence[EditionChange]],
    touched: _Touched,
    plans: Sequence[Mapping[str, Any]],
) -> Otherwise | None:
    name = str(row["clause"])
    differences = by_clause.get(name, ())
    is_touched = name in touched.judged or (
        name in touched.raised and row["outcome"] not in {"pass", "not_applicable"}
    )
    result = _said(row, differences, after, is_touched=is_touched)
    if result is None:
        return None
    change, reason, weight = result
    plan = row.get("plan")
    number = plan if isinstance(plan, int) and 0 <= plan < len(plans) else 0
    files = plans[number].get("files") if plans else ()
    files = files if isinstance(files, list) else ()
    return Otherwise(
        clause=name,
        rule=str(row.get("rule") or ""),
        subject=str(row.get("subject") or ""),
        plan=number,
        files=tuple(str(file) for file in files),
        outcome=str(row["outcome"]),
        change=change,
        weight=weight,
        reason=reason,
    )


def _said(
    row: Mapping[str, Any],
    differences: Sequence[EditionChange],
    after: Edition,
    *,
    is_touched: bool,
) -> tuple[Change, str, str] | None:
    clause = after.clauses.get(str(row["clause"]))
    level = str(row["clause_level"])
    gone = [difference for difference in differences if difference.kind == "withdrawn"]
    if gone or clause is None:
        reason = gone[0].text if gone else "the edition has no such clause"
        return "not_judged", reason, level
    weight = _weight(level, differences)
    for difference in differences:
        if difference.kind == "application":
            return "not_said", f"{difference.text}: judge the files again", weight
    if is_touched:
        reason = "a profile treats it otherwise: judge the files again"
        return "not_said", reason, weight
    numbers = [
        difference.number for difference in differences if difference.number is not None
    ]
    if row["outcome"] in _JUDGED and any(
        difference.kind == "number" for difference in differences
    ):
        decided = _by_number(row, numbers)
        if decided is not None:
            return (*decided, weight)
    if weight != level and row["outcome"] != "not_applicable":
        return "weighs_otherwise", f"{level} -> {weight}", weight
    return None


def _weight(level: str, differences: Sequence[EditionChange]) -> str:
    """Return the level by the other edition; if a profile raised it, at least that."""
    for difference in differences:
        if difference.levels is not None:
            before, after = difference.levels
            kept = level if level != before else after
            return max(kept, after, key=lambda name: _RANK.get(name, 0))
    return level


def _by_number(
    row: Mapping[str, Any], numbers: Sequence[NumberChange]
) -> tuple[Change, str] | None:
    """Return what a changed number makes of a finding; None: it comes out as it did."""
    change = _compared(row, numbers)
    if isinstance(change, str):
        return "not_said", f"{change}: judge the files again"
    measured, limit, way = row["measured"], change.after, _way(row, change)
    if not way or (measured == limit and not change.direction):
        return "not_said", (
            f"{change.name} is {limit}, {measured} was measured, and which way is "
            f"stricter is not plain: judge the files again"
        )
    holds = measured <= limit if way == "upper" else measured >= limit
    if holds == (row["outcome"] == "pass"):
        return None
    bound = "at most" if way == "upper" else "at least"
    reason = (
        f"measured {measured}, {change.name} {bound} {change.before} -> {limit} "
        f"{change.unit}"
    )
    return ("would_pass" if holds else "would_fail"), reason


def _compared(
    row: Mapping[str, Any], numbers: Sequence[NumberChange]
) -> NumberChange | str:
    """Return the number that a finding compared with, or why it is not known."""
    required = row.get("required")
    names = ", ".join(sorted({number.name for number in numbers})) or "its numbers"
    if not _is_number(required) or not _is_number(row.get("measured")):
        return f"{names} changed, and the finding does not say what it compared"
    known = {
        (number.name, number.after): number
        for number in numbers
        if number.before == required
    }
    if not known:
        return f"{names} changed, and the finding compares with {required}"
    (change, *others) = known.values()
    if others:
        return f"{names} changed, and the finding may have compared with each"
    if not _is_number(change.after):
        return f"{change.name} has no value there"
    return change


def _way(row: Mapping[str, Any], change: NumberChange) -> str:
    """Return which side of the number is right.

    Empty if wording and finding disagree.
    """
    measured, required = row["measured"], row["required"]
    is_pass = row["outcome"] == "pass"
    if measured == required:
        return change.direction if is_pass else ""
    shown = "upper" if (measured < required) == is_pass else "lower"
    return shown if change.direction in ("", shown) else ""


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)
