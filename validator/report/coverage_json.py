"""The coverage of an edition as one JSON document, `speccheck-coverage/1`.

Fields are only ever added.
"""

import json

from speccheck.validator import VERSION
from speccheck.validator.report.coverage import (
    Coverage,
    CoveredClause,
    CoveringRule,
    Totals,
    totals,
)
from speccheck.validator.report.edition_names import tailoring_of

SCHEMA = "speccheck-coverage/1"


def coverage_json(coverage: Coverage) -> str:
    """The whole document."""
    edition = coverage.edition
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "edition": {
            "id": edition.id,
            "stage": edition.stage,
            "sha256": edition.sha256,
            "tailoring": tailoring_of(edition),
        },
        "totals": _totals(totals(coverage.clauses)),
        "open_musts": [one.clause.id for one in coverage.clauses if one.is_open_must],
        "areas": [
            {
                "code": area.code,
                "title": area.title,
                "totals": _totals(totals(area.clauses)),
                "clauses": [_clause(one) for one in area.clauses],
            }
            for area in coverage.areas
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _totals(sums: Totals) -> dict[str, object]:
    return {**sums._asdict(), "fixtures": sums.fixtures.by_outcome()}


def _clause(one: CoveredClause) -> dict[str, object]:
    clause = one.clause
    return {
        "id": clause.id,
        "title": clause.title,
        "level": clause.level,
        "status": clause.status,
        "certification_level": clause.certification_level,
        "gap": None if one.gap is None else one.gap._asdict(),
        "rules": [_rule(rule) for rule in one.rules],
    }


def _rule(covering: CoveringRule) -> dict[str, object]:
    rule = covering.rule
    return {
        "name": rule.name,
        "confidence": rule.confidence,
        "frameworks": list(rule.frameworks),
        "fixtures": covering.fixtures.by_outcome(),
    }
