"""The coverage of an edition as one JSON document, `speccheck-coverage/1`."""

from typing import Literal

from speccheck.validator.evidence.finding import ClauseLevel
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.coverage import (
    Coverage,
    CoveredClause,
    FixtureCounts,
    Gap,
    Totals,
    totals,
)
from speccheck.validator.report.serialise import (
    TOOL,
    CompiledEdition,
    Tool,
    alike,
    document_text,
)


class JudgingRule(Record):
    """A rule of the clause; no frameworks: for all of them."""

    name: str
    confidence: Literal["exact", "calibrated", "lower_bound", "advisory"]
    frameworks: tuple[str, ...]
    fixtures: FixtureCounts


class ClauseCoverage(Record):
    """A clause with the rules that judge it; gap: null where files can settle it."""

    id: str
    title: str
    level: ClauseLevel
    status: Literal["core", "proposed"]
    certification_level: Literal["L1", "L2", "L3"]
    gap: Gap | None
    rules: tuple[JudgingRule, ...]


class AreaCoverage(Record):
    """An area of the edition."""

    code: str
    title: str
    totals: Totals
    clauses: tuple[ClauseCoverage, ...]


class CoverageDocument(Record):
    """The whole document. open_musts: of the core, that files alone do not settle."""

    schema_name: Literal["speccheck-coverage/1"]
    tool: Tool
    edition: CompiledEdition
    totals: Totals
    open_musts: tuple[str, ...]
    areas: tuple[AreaCoverage, ...]


def coverage_json(coverage: Coverage) -> str:
    """Return the whole document."""
    clauses = tuple(coverage.clauses)
    document = CoverageDocument(
        schema_name="speccheck-coverage/1",
        tool=TOOL,
        edition=alike(CompiledEdition, coverage.edition),
        totals=totals(clauses),
        open_musts=tuple(clause.clause.id for clause in clauses if clause.is_open_must),
        areas=tuple(
            AreaCoverage(
                area.code,
                area.title,
                totals(area.clauses),
                tuple(_clause(covered) for covered in area.clauses),
            )
            for area in coverage.areas
        ),
    )
    return document_text(document, indent=2, ensure_ascii=False)


def _clause(covered: CoveredClause) -> ClauseCoverage:
    rules = [
        alike(JudgingRule, covering.rule, fixtures=covering.fixtures)
        for covering in covered.rules
    ]
    return alike(ClauseCoverage, covered.clause, gap=covered.gap, rules=rules)
