"""A MINOR edition turns no pass into a failure: the fixtures of rules, by both."""

from contextlib import chdir as working_in
from pathlib import Path

import pytest

from rule_fixtures import load, of_files, on_the_day, request_of
from speccheck.validator.editions.difference import weight_between
from speccheck.validator.editions.edition import editions, load_edition
from speccheck.validator.engine.request import Selection
from speccheck.validator.rule import by_clause
from speccheck.validator.run.run import run

EVERY = 7  # of the rule fixtures, one in so many is judged by both editions
FIXTURES = of_files()[::EVERY]


def minor_steps() -> list[tuple[str, str]]:
    """Return the editions that claim to fail nothing, each with its base."""
    found: list[tuple[str, str]] = []
    for name in editions():
        base = load_edition(name).extends
        if base is not None and weight_between(base.id, name) != "MAJOR":
            found.append((base.id, name))
    return found


def outcomes(path: Path, spec: str) -> dict[tuple[int, str], str]:
    """Return how each clause of each plan of a rule's fixture came out."""
    fixture = load(path)
    for name, text in fixture.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    with on_the_day(fixture.today):
        request = request_of(fixture)
        judging = request.judging._replace(selection=Selection())
        request = request._replace(judging=judging, full=False)
        plans = run(request._replace(spec=spec)).plans
    return {
        (at, item.clause): item.outcome
        for at, plan in enumerate(plans)
        for item in by_clause([located.finding for located in plan.findings])
    }


def is_lowered(clause: str, before: str, after: str) -> bool:
    """Return whether a must became a recommendation, which an estimate can fail."""
    old, new = load_edition(before).clauses, load_edition(after).clauses
    return old[clause].level == "must" and new[clause].level != "must"


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), minor_steps())
def test_a_minor_edition_turns_no_pass_into_a_failure(
    before: str, after: str, tmp_path: Path
) -> None:
    passed = 0
    for at, path in enumerate(FIXTURES):
        folder = tmp_path / str(at)
        folder.mkdir()
        with working_in(folder):
            old, new = outcomes(path, before), outcomes(path, after)
        for key, outcome in old.items():
            if outcome == "pass":
                passed += 1
                assert new.get(key) in {"pass", "not_applicable", None}, (path, key)
            elif outcome != "fail" and not is_lowered(key[1], before, after):
                assert new.get(key) != "fail", (path, key)
        added = {key for key, outcome in new.items() if outcome == "fail"} - set(old)
        levels = {load_edition(after).clauses[clause].level for _, clause in added}
        assert "must" not in levels, (path, added)
    assert passed > len(FIXTURES)
