"""What the rules cover of an edition: each clause, its rules, and their fixtures.

Fixtures are in a checkout alone. `rules/fixtures.json` counts them; it is generated and
comes with the package, so that an installed program says the same.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import speccheck.rules
from speccheck.validator.editions.edition import Clause, Edition
from speccheck.validator.engine.rule_index import RuleEntry, rule_entries
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import wrap

COUNTED = os.path.join(os.path.dirname(speccheck.rules.__file__), "fixtures.json")

GapKind = Literal["proposed", "needs_live_evidence", "of_certification", "no_rule"]


class FixtureCounts(Record):
    """How many fixtures show each outcome."""

    pass_: int = 0
    fail: int = 0
    unknown: int = 0
    not_applicable: int = 0


OUTCOMES = ("pass", "fail", "unknown", "not_applicable")


class CoveringRule(Record):
    """A rule and what its fixtures show."""

    rule: RuleEntry
    fixtures: FixtureCounts


class Gap(Record):
    """Why files alone do not settle a clause."""

    kind: GapKind
    text: str


class CoveredClause(Record):
    """A clause with the rules that judge it; gap: None where files can settle it."""

    clause: Clause
    rules: tuple[CoveringRule, ...]
    gap: Gap | None

    @property
    def is_open_must(self) -> bool:
        """A must of the core that files alone do not settle."""
        clause = self.clause
        is_must_of_core = clause.level == "must" and clause.status == "core"
        return is_must_of_core and self.gap is not None


class CoveredArea(Record):
    """An area of the edition."""

    code: str
    title: str
    clauses: tuple[CoveredClause, ...]


class Totals(Record):
    """Sums over clauses; settled: those that files alone can settle."""

    clauses: int
    core: int
    musts: int  # of the core
    with_rules: int
    settled: int
    settled_core: int
    settled_musts: int  # of the core
    rules: int
    fixtures: FixtureCounts


class Coverage(Record):
    """An edition, area by area."""

    edition: Edition
    areas: tuple[CoveredArea, ...]

    @property
    def clauses(self) -> Iterator[CoveredClause]:
        """All clauses in the order of the areas."""
        return (clause for area in self.areas for clause in area.clauses)


def coverage(edition: Edition) -> Coverage:
    """Return what the rules that come with speccheck cover of an edition."""
    counts = counted_fixtures()
    rules: dict[str, list[CoveringRule]] = {}
    for entry in rule_entries():
        count = counts.get(entry.name, FixtureCounts())
        rules.setdefault(entry.clause, []).append(CoveringRule(entry, count))
    areas: list[CoveredArea] = []
    for code, title in edition.areas.items():
        clauses = tuple(
            _covered(clause, rules.get(clause.id, ()), edition)
            for clause in edition.clauses.values()
            if clause.area == code
        )
        if clauses:
            areas.append(CoveredArea(code, title, clauses))
    return Coverage(edition, tuple(areas))


def counted_fixtures() -> dict[str, FixtureCounts]:
    """Return the counts that come with the package, by rule."""
    try:
        with open(COUNTED, encoding="utf-8") as file:
            result: dict[str, dict[str, int]] = json.load(file)
    except FileNotFoundError:
        return {}
    return {
        name: FixtureCounts(*(row[text] for text in OUTCOMES))
        for name, row in result.items()
    }


def totals(clauses: Iterable[CoveredClause]) -> Totals:
    """Return the sums over some clauses."""
    every = tuple(clauses)
    core = tuple(
        covered_clause
        for covered_clause in every
        if covered_clause.clause.status == "core"
    )
    musts = tuple(
        covered_clause
        for covered_clause in core
        if covered_clause.clause.level == "must"
    )
    rules = [rule for covered_clause in every for rule in covered_clause.rules]
    return Totals(
        clauses=len(every),
        core=len(core),
        musts=len(musts),
        with_rules=sum(bool(covered_clause.rules) for covered_clause in every),
        settled=_settled(every),
        settled_core=_settled(core),
        settled_musts=_settled(musts),
        rules=len(rules),
        fixtures=FixtureCounts(
            *(sum(rule.fixtures[at] for rule in rules) for at in range(len(OUTCOMES)))
        ),
    )


def _settled(clauses: Sequence[CoveredClause]) -> int:
    return sum(clause.gap is None for clause in clauses)


def _covered(
    clause: Clause, rules: Sequence[CoveringRule], edition: Edition
) -> CoveredClause:
    return CoveredClause(clause, tuple(rules), _gap(clause, edition, rules))


def _gap(clause: Clause, edition: Edition, rules: Sequence[CoveringRule]) -> Gap | None:
    level = clause.certification_level
    live = "" if level == "L1" else f"needs live evidence ({level})"
    if clause.status == "proposed" and not rules:
        return Gap("proposed", "; ".join(filter(None, ("proposed, no rule", live))))
    if live:
        by_rules = "; files can show that it fails, not that it holds"
        reads_files = any(rule.rule.scope not in {"node", "fleet"} for rule in rules)
        return Gap("needs_live_evidence", live + (by_rules if reads_files else ""))
    if any(rule.rule.scope != "measurement" for rule in rules):
        return None
    for name in clause.applies_when:
        condition = edition.conditions[name]
        if condition.fact == "profile.use":
            return Gap("of_certification", f"judged only where {condition.text}")
    return Gap("no_rule", "no rule yet")


_WIDTH = 80
_SHORT_DIGEST = 12
_NAME = 54
_HEADINGS = ("pass", "fail", "unknown", "n/a")
_CELLS = (5, 5, 8, 5)
# What nobody has done yet, before what files cannot show.
_ORDER = ("no_rule", "needs_live_evidence", "of_certification")


def coverage_text(coverage: Coverage) -> str:
    """Return the open musts first, then each area, then the sums."""
    lines = [*_head(coverage), *_open_musts(coverage)]
    for area in coverage.areas:
        lines.extend(_area(area))
    lines.extend(_sums(coverage))
    return "\n".join(lines) + "\n"


def _head(coverage: Coverage) -> Iterator[str]:
    edition = coverage.edition
    digest = edition.sha256[:_SHORT_DIGEST]
    yield f"What the rules cover of edition {edition.id} ({edition.stage}, {digest})"
    yield ""
    yield from (wrap(sentence, _WIDTH, "") for sentence in sentences(coverage))
    yield ""


def sentences(coverage: Coverage) -> Iterator[str]:
    """Yield the totals in words."""
    all_of_it = totals(coverage.clauses)
    yield (
        f"{all_of_it.clauses} clauses, {all_of_it.core} of the core; "
        f"{all_of_it.with_rules} have rules."
    )
    yield (
        f"Files alone can settle {all_of_it.settled_core} of the {all_of_it.core} "
        f"of the core, {all_of_it.settled_musts} of its {all_of_it.musts} musts."
    )
    fixtures = all_of_it.fixtures
    yield (
        f"{all_of_it.rules} rules with {sum(fixtures)} fixtures: {fixtures.pass_} "
        f"pass, {fixtures.fail} fail, {fixtures.unknown} unknown, "
        f"{fixtures.not_applicable} not applicable."
    )


def open_musts(coverage: Coverage) -> dict[str, list[CoveredClause]]:
    """Return the musts of the core that files alone do not settle, by the reason."""
    result: dict[Gap, list[CoveredClause]] = {}
    for clause in coverage.clauses:
        if clause.is_open_must and clause.gap is not None:
            result.setdefault(clause.gap, []).append(clause)
    ordered = sorted(result, key=lambda gap: (_ORDER.index(gap.kind), gap.text))
    return {gap.text: result[gap] for gap in ordered}


def _open_musts(coverage: Coverage) -> Iterator[str]:
    by_reason = open_musts(coverage)
    if not by_reason:
        return
    count = sum(map(len, by_reason.values()))
    yield f"{count} musts of the core that files alone do not settle"
    for reason, clauses in by_reason.items():
        yield f"  {reason}"
        for clause in clauses:
            yield f"    {clause.clause.id:<9} {clause.clause.title}"
    yield ""


def _area(area: CoveredArea) -> Iterator[str]:
    yield _row(f"{area.code}  {area.title}", _HEADINGS)
    for covered_clause in area.clauses:
        clause = covered_clause.clause
        state = "" if clause.status == "core" else f", {clause.status}"
        yield f"  {clause.id}  {clause.title} ({clause.level}{state})"
        for rule in covered_clause.rules:
            yield _row(f"    {rule.rule.name}", _counts(rule.fixtures))
        if covered_clause.gap is not None:
            yield wrap(covered_clause.gap.text, _WIDTH, "    - ")
    yield ""


def _sums(coverage: Coverage) -> Iterator[str]:
    yield _row(
        f"{'area':<6}{'clauses':>9}{'core':>7}{'ruled':>8}{'rules':>8}", _HEADINGS
    )
    rows = [(area.code, area.clauses) for area in coverage.areas]
    for name, clauses in (*rows, ("all", tuple(coverage.clauses))):
        sums = totals(clauses)
        left = (
            f"{name:<6}{sums.clauses:>9}{sums.core:>7}{sums.with_rules:>8}"
            f"{sums.rules:>8}"
        )
        yield _row(left, _counts(sums.fixtures))


def _counts(fixtures: FixtureCounts) -> tuple[str, ...]:
    return tuple(str(count) if count else "-" for count in fixtures)


def _row(left: str, cells: tuple[str, ...]) -> str:
    widths = zip(cells, _CELLS, strict=True)
    return f"{left:<{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in widths)
