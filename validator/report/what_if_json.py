"""A plan before and after `--what-if` as plain data for `speccheck-plan/1`."""

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.forecast_json import forecast_data
from speccheck.validator.report.plan_text import ending_of
from speccheck.validator.report.plan_value import leaf_data
from speccheck.validator.run.plan_view import ViewedPlan
from speccheck.validator.run.run import Run


def what_if_data(plan: ViewedPlan) -> dict[str, object] | None:
    """Values, findings, forecasts and verdicts that differ; null without a change."""
    found = plan.what_if
    if found is None:
        return None
    return {
        "changes": [one.text for one in found.changes],
        "remarks": list(found.remarks),
        "values": [
            {"before": leaf_data(one.before), "after": leaf_data(one.after)}
            for one in plan.changed
        ],
        "findings": [
            {
                "kind": one.kind,
                "before": _finding(one.before),
                "after": _finding(one.after),
            }
            for one in found.findings
        ],
        "forecasts": [forecast_data(one) for one in found.forecasts],
        "before": _ending(found.before),
        "after": _ending(found.after),
    }


def _finding(finding: Finding | None) -> dict[str, object] | None:
    if finding is None:
        return None
    return {
        "rule": finding.rule or None,
        "clause": finding.clause,
        "title": finding.title,
        "level": finding.level,
        "outcome": finding.outcome,
        "message": hidden(finding.message),
        "measured": finding.measured,
        "required": finding.required,
        "missing": list(finding.missing),
    }


def _ending(run: Run) -> dict[str, object]:
    ending = ending_of(run)
    return {
        "verdict": ending.verdict,
        "reason": ending.reason,
        "exit_code": ending.code,
    }
