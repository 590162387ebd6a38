"""The index names every rule with its clause, and a wrong index hides no rule."""

from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.engine import rule_index
from speccheck.validator.engine.rule_index import (
    INDEX,
    RulesByClause,
    StaleIndex,
    built_in_rules,
    entry_of,
    index_text,
    rule_entries,
)


def test_the_index_is_the_generated_one() -> None:
    assert Path(INDEX).read_text(encoding="utf-8") == index_text(), "run make generate"


def test_entries_are_the_rules() -> None:
    rules = [entry_of(rule) for rule in built_in_rules()]
    assert list(rule_entries()) == rules


def test_the_rules_of_a_clause_are_those_that_judge_it() -> None:
    by_clause = RulesByClause(rule_entries())
    assert len(by_clause) == len({entry.clause for entry in rule_entries()})
    for clause in by_clause:
        assert {rule.load().clause for rule in by_clause[clause]} == {clause}
    found = [rule.name for clause in by_clause for rule in by_clause[clause]]
    assert sorted(found) == sorted(rule.name for rule in built_in_rules())
    assert by_clause.get("COMM-999") is None


def test_a_rule_that_the_index_lacks_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_index, "INDEX", str(tmp_path / "index.json"))
    assert rule_entries.__wrapped__() == rule_entries()


@pytest.mark.parametrize(
    "change",
    [{"clause": "COMM-999"}, {"confidence": "none"}, {"frameworks": ("none",)}],
)
def test_an_index_that_says_otherwise_is_refused(change: dict[str, Any]) -> None:
    first = rule_entries()[0]
    assert first.load().name == first.name
    with pytest.raises(StaleIndex, match=f"{first.name} judges {first.clause}"):
        first._replace(**change).load()
