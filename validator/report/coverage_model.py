"""The shape of `speccheck-coverage/1`, for its JSON Schema and for whoever reads one.

Writing it does not import this module: coverage_json.py writes plain data, and a test
holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import ClauseLevel, CompiledEdition, Tool


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FixtureCount(_Part):
    """How many fixtures show each outcome."""

    holds: int = Field(alias="pass")
    fail: int
    unknown: int
    not_applicable: int


class ClauseTotals(_Part):
    """Sums over clauses; settled: those that files alone can settle.

    `musts` and `settled_musts` count those of the core.
    """

    clauses: int
    core: int
    musts: int
    with_rules: int
    settled: int
    settled_core: int
    settled_musts: int
    rules: int
    fixtures: FixtureCount


class ClauseGap(_Part):
    """Why files alone do not settle a clause."""

    kind: Literal["proposed", "needs_live_evidence", "of_certification", "no_rule"]
    text: str


class JudgingRule(_Part):
    """A rule of the clause; no frameworks: for all of them."""

    name: str
    confidence: Literal["exact", "calibrated", "lower_bound", "advisory"]
    frameworks: list[str]
    fixtures: FixtureCount


class ClauseCoverage(_Part):
    """A clause with the rules that judge it; gap: null where files can settle it."""

    id: str
    title: str
    level: ClauseLevel
    status: Literal["core", "proposed"]
    certification_level: Literal["L1", "L2", "L3"]
    gap: ClauseGap | None
    rules: list[JudgingRule]


class AreaCoverage(_Part):
    """An area of the edition."""

    code: str
    title: str
    totals: ClauseTotals
    clauses: list[ClauseCoverage]


class CoverageDocument(_Part):
    """The whole document. open_musts: of the core, that files alone do not settle."""

    schema_name: Literal["speccheck-coverage/1"] = Field(alias="schema")
    tool: Tool
    edition: CompiledEdition
    totals: ClauseTotals
    open_musts: list[str]
    areas: list[AreaCoverage]
