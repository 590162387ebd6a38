"""Correct files that simple rules take for faults: they must stay as quiet as they are.

Each trap in fixtures/traps was met in published files, by us or by a linter before us.
It names the outcome of every rule that might fall into it, or the level of a failure
that is advice; and the whole plan has no error.
"""

from contextlib import chdir as working_in
from pathlib import Path
from typing import Any

import pytest
import yaml

from rule_fixtures import FIXTURES
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.run.run import RunResult, run
from speccheck.validator.sources.context import Context

TRAPS = sorted((FIXTURES.parent / "traps").glob("*.yaml"))


def judged(trap: dict[str, Any], folder: Path) -> RunResult:
    for name, text in trap["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    context = Context(**trap.get("context", {}))
    request = Request(
        arguments=tuple(trap["files"]), judging=Judging(context=context), full=True
    )
    with working_in(folder):
        return run(request)


@pytest.mark.parametrize("path", TRAPS, ids=lambda path: path.stem)
def test_the_trap_catches_no_rule(path: Path, tmp_path: Path) -> None:
    trap = yaml.safe_load(path.read_text("utf-8"))
    (plan,) = judged(trap, tmp_path).plans
    findings = [located.finding for located in plan.findings]
    failed = [finding for finding in findings if finding.outcome == "fail"]
    assert [item.message for item in failed if item.level == "error"] == []
    found = {
        name: sorted(
            {
                finding.level if finding.outcome == "fail" else finding.outcome
                for finding in findings
                if finding.rule == name
            }
            or {"not_applicable"}
        )
        for name in trap["outcomes"]
    }
    assert found == {name: [outcome] for name, outcome in trap["outcomes"].items()}


def test_a_trap_names_rules() -> None:
    rules = {entry.name for entry in rule_entries()}
    wrong = [
        f"{path.name}: {name}"
        for path in TRAPS
        for name in yaml.safe_load(path.read_text("utf-8"))["outcomes"]
        if name not in rules
    ]
    assert not wrong, "\n".join(wrong)
