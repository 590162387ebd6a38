"""What a rule says it needs: without that it must not decide on any plan.

The engine does not import a rule for a plan that lacks what it needs. Here each such
rule is asked all the same, on the plans of all fixtures.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rule_fixtures import all_fixtures, load
from speccheck.validator.editions.compose import compose
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.assemble import PlanEvidence, assemble
from speccheck.validator.engine.judge import Judge
from speccheck.validator.engine.rule_index import built_in_rules
from speccheck.validator.evidence.plan import SECTIONS
from speccheck.validator.rule import Rule
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.grouping import group

NEEDING = [rule for rule in built_in_rules() if rule.needs]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[PlanEvidence]:
    return [*_plans(tmp_path_factory.mktemp("plans"))]


def _plans(folder: Path) -> Iterator[PlanEvidence]:
    """Yield the plans of all fixtures of rules."""
    for number, path in enumerate(all_fixtures()):
        fixture = load(path)
        context = {k: v for k, v in fixture.context.items() if k != "profile"}
        read = []
        for name, text in fixture.files.items():
            target = folder / str(number) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            read += read_file(str(target))[1]
        for found in group(read):
            yield assemble(found.files, Context(**context))


def test_some_rules_need_something() -> None:
    assert len(NEEDING) > 5


@pytest.mark.slow
@pytest.mark.parametrize("item", NEEDING, ids=lambda item: item.name)
def test_a_rule_decides_nothing_without_what_it_needs(
    item: Rule, plans: list[PlanEvidence]
) -> None:
    for need in item.needs:
        section, _, field = need.partition(".")
        assert field in SECTIONS[section].__annotations__
    open_to_all = compose(load_edition(), use="ci", size="L").selecting(
        lambda judged: judged.clause.id == item.clause
    )
    lacking = [
        plan
        for plan in plans
        if not all(plan.plan.value(n).is_known for n in item.needs)
    ]
    judge = Judge(open_to_all, {item.clause: [item._replace(needs=())]})
    outcomes = {finding.outcome for plan in lacking for finding in judge(plan)}
    assert len(lacking) > 100
    assert outcomes <= {"unknown", "not_applicable"}
    assert "unknown" in outcomes
