"""A failure without what a command line adds: it stands, or says what it lacks.

Each rule's failing files are judged again with nothing said beside them. What a rule
fails by those alone must still fail; otherwise it names what it needs. That it would
hold, or that it does not apply, is said only where the fact itself is what it is about.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from rule_fixtures import RuleFixture, findings_of, load, of_files

# What is said beside the files, and why nothing is wrong without it.
_ABOUT_IT = {
    "framework_version": "another release has the key, or means something else",
    "nccl_version": "another release has the variable, or means something else",
    "instance": "other machines have other parts, and other published settings",
    "fabric": "another fabric has other ports and plugins",
    "profile": "another use asks for less",
    "hours": "only long runs need it",
    "step_seconds": "a step of unknown length outlasts nothing",
    "gpu": "the requirement is that of a generation, or of a board without links",
}
# Known alone, they agree with all files.
_CONTRADICTS_FILES = {"conflicting_statements", "evaluation_batch_not_divisible"}


def _failing() -> list[RuleFixture]:
    fixtures = (load(path) for path in of_files() if path.name.startswith("fail_"))
    return [
        fixture
        for fixture in fixtures
        if fixture.context
        and not _ABOUT_IT.keys() & fixture.context.keys()
        and fixture.rule not in _CONTRADICTS_FILES
    ]


@pytest.mark.parametrize(
    "fixture", _failing(), ids=lambda each: f"{each.rule}-{each.path.stem}"
)
def test_no_failure_is_hidden_by_a_scale_that_nobody_states(
    fixture: RuleFixture, tmp_path: Path
) -> None:
    bare = replace(fixture, context={})
    outcomes = {each.finding.outcome for each in findings_of(bare, tmp_path)}
    # Of a clause that needs a live machine files show failures alone.
    assert not outcomes or outcomes & {"fail", "unknown"}
