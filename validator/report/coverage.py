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
        return (one for area in self.areas for one in area.clauses)


def coverage(edition: Edition) -> Coverage:
    """What the rules that come with speccheck cover of an edition."""
    counts = counted_fixtures()
    rules: dict[str, list[CoveringRule]] = {}
    for entry in rule_entries():
        count = counts.get(entry.name, FixtureCounts())
        rules.setdefault(entry.clause, []).append(CoveringRule(entry, count))
    areas: list[CoveredArea] = []
    for code, title in edition.areas.items():
        clauses = tuple(
            _covered(one, rules.get(one.id, ()), edition)
            for one in edition.clauses.values()
            if one.area == code
        )
        if clauses:
            areas.append(CoveredArea(code, title, clauses))
    return Coverage(edition, tuple(areas))


def counted_fixtures() -> dict[str, FixtureCounts]:
    """The counts that come with the package, by rule."""
    try:
        with open(COUNTED, encoding="utf-8") as file:
            found: dict[str, dict[str, int]] = json.load(file)
    except FileNotFoundError:
        return {}
    return {
        name: FixtureCounts(*(row[one] for one in OUTCOMES))
        for name, row in found.items()
    }


def totals(clauses: Iterable[CoveredClause]) -> Totals:
    """The sums over some clauses."""
    every = tuple(clauses)
    core = tuple(one for one in every if one.clause.status == "core")
    musts = tuple(one for one in core if one.clause.level == "must")
    rules = [rule for one in every for rule in one.rules]
    return Totals(
        clauses=len(every),
        core=len(core),
        musts=len(musts),
        with_rules=sum(bool(one.rules) for one in every),
        settled=_settled(every),
        settled_core=_settled(core),
        settled_musts=_settled(musts),
        rules=len(rules),
        fixtures=FixtureCounts(
            *(sum(rule.fixtures[at] for rule in rules) for at in range(len(OUTCOMES)))
        ),
    )


def _settled(clauses: Sequence[CoveredClause]) -> int:
    return sum(one.gap is None for one in clauses)


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
        reads_files = any(one.rule.scope not in {"node", "fleet"} for one in rules)
        return Gap("needs_live_evidence", live + (by_rules if reads_files else ""))
    if any(one.rule.scope != "measurement" for one in rules):
        return None
    for name in clause.applies_when:
        condition = edition.conditions[name]
        if condition.fact == "profile.use":
            return Gap("of_certification", f"judged only where {condition.text}")
    return Gap("no_rule", "no rule yet")
