"""What the rules cover: each clause is there, and no gap is hidden."""

import json
from pathlib import Path

import jsonschema
import pytest

from coverage_page import PAGE, fixtures_text, page
from json_schemas import SCHEMAS
from speccheck.validator.cli.main import main
from speccheck.validator.editions.edition import Clause, load_edition
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.report import coverage as coverage_module
from speccheck.validator.report.coverage import (
    COUNTED,
    Coverage,
    counted_fixtures,
    coverage,
    coverage_text,
    open_musts,
    totals,
)
from speccheck.validator.report.coverage_json import coverage_json

EDITION = load_edition()
# Drafts have clauses of their own.
RULES = [entry for entry in rule_entries() if entry.clause in EDITION.clauses]
COVERAGE = coverage(EDITION)


def is_of_certification(clause: Clause) -> bool:
    conditions = [EDITION.conditions[name] for name in clause.applies_when]
    return any(item.fact == "profile.use" for item in conditions)


FOR_FILES = [
    clause
    for clause in COVERAGE.clauses
    if clause.clause.status == "core"
    and clause.clause.certification_level == "L1"
    and not is_of_certification(clause.clause)
]


def test_the_counts_are_those_of_the_fixtures() -> None:
    assert Path(COUNTED).read_text("utf-8") == fixtures_text(), "run make generate"


def test_the_page_is_the_generated_one() -> None:
    assert PAGE.read_text("utf-8") == page(COVERAGE), "run make generate"


def test_files_settle_every_core_clause_that_they_can_evidence() -> None:
    assert FOR_FILES
    open_clauses = [
        covered.clause.id
        for covered in FOR_FILES
        if not covered.rules or covered.gap is not None
    ]
    assert not open_clauses, "\n".join(open_clauses)
    without_fixtures = [
        f"{covered.clause.id}: {covering.rule.name}"
        for covered in FOR_FILES
        for covering in covered.rules
        if not (covering.fixtures.pass_ and covering.fixtures.fail)
    ]
    assert not without_fixtures, "\n".join(without_fixtures)


def test_every_clause_and_every_rule_is_there_once() -> None:
    clauses = list(COVERAGE.clauses)
    assert [clause.clause.id for clause in clauses] == list(EDITION.clauses)
    rules = [covering.rule.name for clause in clauses for covering in clause.rules]
    assert sorted(rules) == sorted(entry.name for entry in RULES)


def test_what_has_no_rule_says_why() -> None:
    silent = [
        clause.clause.id
        for clause in COVERAGE.clauses
        if not clause.rules and not clause.gap
    ]
    assert silent == []
    gaps = {
        clause.clause.id: clause.gap.text for clause in COVERAGE.clauses if clause.gap
    }
    assert gaps["HW-001"] == "needs live evidence (L2)"
    assert gaps["OBS-010"] == "proposed, no rule; needs live evidence (L3)"
    assert gaps["META-001"] == "judged only where the use is certification"
    assert gaps["COMM-005"] == (
        "needs live evidence (L2); files can show that it fails, not that it holds"
    )
    assert "MEM-001" not in gaps


def without_rules(monkeypatch: pytest.MonkeyPatch) -> Coverage:
    monkeypatch.setattr(coverage_module, "rule_entries", tuple)
    return coverage(EDITION)


def test_a_must_that_nobody_wrote_a_rule_for_stands_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = without_rules(monkeypatch)
    musts = sum(map(len, open_musts(bare).values()))
    lines = coverage_text(bare).splitlines()
    assert lines[5:9] == [
        "",
        f"{musts} musts of the core that files alone do not settle",
        "  no rule yet",
        "    COMM-003  NCCL algorithm and protocol lists are valid",
    ]


def test_a_rule_that_nobody_counted_the_fixtures_of_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(coverage_module, "COUNTED", str(tmp_path / "fixtures.json"))
    assert counted_fixtures() == {}
    assert tuple(totals(coverage(EDITION).clauses).fixtures) == (0, 0, 0, 0)


def test_a_must_that_needs_a_machine_stands_above_the_areas() -> None:
    head, _, areas = coverage_text(COVERAGE).partition("\nCOMM  Communication ")
    assert "  needs live evidence (L2)\n    COMM-016  One software stack" in head
    assert "    HW-001    Uniform GPU inventory\n" in head
    assert "MEM-001" not in head
    assert "  MEM-001  " in areas


def test_the_sums_are_those_of_the_areas() -> None:
    whole = totals(COVERAGE.clauses)
    parts = [totals(area.clauses) for area in COVERAGE.areas]
    assert whole.clauses == len(EDITION.clauses) == sum(part.clauses for part in parts)
    assert whole.rules == len(RULES) == sum(part.rules for part in parts)
    counts = [part.fixtures for part in parts]
    assert tuple(whole.fixtures) == tuple(map(sum, zip(*counts, strict=True)))


def test_the_command_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "coverage"]) == 0
    text = capsys.readouterr().out
    assert text == coverage_text(COVERAGE)
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_the_document_is_of_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "coverage", "--output", "json"]) == 0
    text = capsys.readouterr().out
    assert text == coverage_json(COVERAGE)
    document = json.loads(text)
    jsonschema.validate(document, SCHEMAS["coverage"]())
    assert document["open_musts"] == [
        clause.clause.id for clause in COVERAGE.clauses if clause.is_open_must
    ]


def test_another_form_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "coverage", "--output", "xml"]) == 2
    assert capsys.readouterr().err == (
        "speccheck: --output xml: must be text or json\n"
    )
