"""The exit code: what nobody could judge never counts as holding."""

import pytest

from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import Finding, Outcome
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.verdict import exit_of
from speccheck.validator.run.judging import JobScale, JudgedPlan
from speccheck.validator.run.run import RunResult


def ending(must: Outcome | None, should: Outcome) -> int:
    """Return the exit code of a plan with one must, or none, and one should."""
    rows: list[Finding] = [Finding("C-2", "", "should", "r", "warning", should, "")]
    if must is not None:
        rows.append(Finding("C-1", "", "must", "r", "error", must, ""))
    findings = tuple(LocatedFinding(row, ()) for row in rows)
    plan = JudgedPlan((), (), JobScale(TrainingPlan({})), None, findings)
    run = RunResult(load_edition(), "ci", (), (plan,))
    return exit_of(run, summarize(run.plans), "error").code


@pytest.mark.parametrize(
    ("must", "should", "code"),
    [
        ("pass", "fail", 0),
        ("pass", "unknown", 0),
        ("fail", "pass", 1),
        ("unknown", "pass", 3),
        ("unknown", "fail", 3),
        ("not_applicable", "fail", 0),
        ("not_applicable", "pass", 3),
        (None, "fail", 0),
    ],
)
def test_no_must_judged_is_no_pass(
    must: Outcome | None, should: Outcome, code: int
) -> None:
    assert ending(must, should) == code
