"""The plan of files as one JSON document, `speccheck-plan/1`, for other tools.

Every leaf is there, known or not, in the order of the plan. Fields are only ever added.
"""

import json

from speccheck.validator import VERSION
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.forecast_json import forecast_data
from speccheck.validator.report.plan_value import leaf_data, place_data
from speccheck.validator.report.what_if_json import what_if_data
from speccheck.validator.run.plan_dump import ShownVariable
from speccheck.validator.run.plan_view import PlanView, ViewedPlan

SCHEMA = "speccheck-plan/1"


def plan_json(view: PlanView) -> str:
    """The whole document."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "files": [
            {
                "path": file.path,
                "format": file.format or None,
                "status": file.state,
                "message": file.message or None,
            }
            for file in view.files
        ],
        "plans": [_plan(plan) for plan in view.plans],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _plan(viewed: ViewedPlan) -> dict[str, object]:
    plan = viewed.shown
    return {
        "files": [file.path for file in plan.files],
        "formats": list(dict.fromkeys(file.format for file in plan.files)),
        "grouping": list(plan.grouping),
        "values": [leaf_data(shown) for shown in plan.leaves],
        "environment": [_variable(one) for one in plan.variables],
        "forecasts": [forecast_data(one) for one in plan.forecasts],
        "what_if": what_if_data(viewed),
    }


def _variable(shown: ShownVariable) -> dict[str, object]:
    value = None if shown.value is None else hidden(shown.value)
    return {"name": shown.name, "value": value, "place": place_data(shown.location)}
