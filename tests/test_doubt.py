"""A value that is stated and cannot be read makes no rule pass."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rule_fixtures import all_fixtures, load
from speccheck.validator.editions.compose import compose
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.assemble import PlanEvidence, assemble
from speccheck.validator.engine.judge import Judge
from speccheck.validator.engine.rule_index import built_in_rules
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.plan import plan_evidence, with_doubts
from speccheck.validator.evidence.value import Place, Span, Value
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.grouping import group

RULES = {rule.name: rule for rule in built_in_rules()}
PLAIN = {"nodes", "gpus_per_node"}
FAILING = [
    path for path in all_fixtures() if path.name.startswith(("fail_", "unknown_"))
]


def _plans(path: Path, folder: Path) -> Iterator[PlanEvidence]:
    """Return what a fixture has of plans; none where its context says more of a job."""
    fixture = load(path)
    if not set(fixture.context) <= PLAIN:
        return
    read = []
    for name, text in fixture.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        read += read_file(str(target))[1]
    for item in group(read):
        yield assemble(item.files, Context(**fixture.context))


def _judge(rule: str) -> Judge:
    clause = RULES[rule].clause
    edition = compose(load_edition(), use="ci", size="L")
    only = edition.selecting(lambda item: item.clause.id == clause)
    return Judge(only, {clause: [RULES[rule]]})


def _doubting(
    evidence: PlanEvidence, leaves: Mapping[str, Value[Any]], name: str
) -> Evidence:
    """Return the evidence of a plan of which a template still fills in one leaf."""
    stated = leaves[name]._replace(value=None, status="unknown", note="a template")
    return evidence.with_more(plan_evidence({**leaves, name: stated})[1])


@pytest.mark.parametrize("rule", sorted({path.parent.name for path in FAILING}))
def test_a_leaf_that_cannot_be_read_makes_no_rule_pass(
    rule: str, tmp_path: Path
) -> None:
    judge = _judge(rule)
    for number, path in enumerate(item for item in FAILING if item.parent.name == rule):
        for evidence in _plans(path, tmp_path / str(number)):
            before = {item.outcome for item in judge(evidence)}
            if "pass" in before or not before & {"fail", "unknown"}:
                continue
            leaves = {leaf.name: leaf for leaf in evidence.plan.stated()}
            for name, leaf in leaves.items():
                if leaf.is_known and leaf.places:
                    after = judge(_doubting(evidence, leaves, name))
                    outcomes = {item.outcome for item in after}
                    assert not outcomes & {"pass", "error"}, (path.name, name)


def test_only_what_is_looked_at_counts() -> None:
    at = (Place("a.yaml", "k", Span(1, 1, 1)),)
    known, doubtful = Value("batch.a", 1, "stated", at), Value("batch.b", places=at)
    result = {item.name: item for item in (known, doubtful)}
    watched, doubts = with_doubts(result)
    assert doubts is not None
    assert watched == result
    assert watched["batch.a"].need() == 1
    assert doubts.seen == {}
    assert watched["batch.b"].or_else(3) == 3
    assert list(doubts.seen) == ["batch.b"]
    doubts.forget()
    assert not watched["batch.b"].is_known
    assert list(doubts.seen) == ["batch.b"]


def test_a_plan_without_doubt_is_not_watched() -> None:
    assert with_doubts({"batch.a": Value("batch.a")})[1] is None
