"""The plan of files as one JSON document, `speccheck-plan/1`, for other tools.

Every leaf is there, known or not, in the order of the plan. Fields are only ever added.
"""

import json

from speccheck.validator import VERSION
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.plan_view import PlanView, ShownLeaf, ShownPlan, ShownVariable
from speccheck.validator.run import Location

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


def _plan(plan: ShownPlan) -> dict[str, object]:
    return {
        "files": [file.path for file in plan.files],
        "formats": list(dict.fromkeys(file.format for file in plan.files)),
        "grouping": list(plan.grouping),
        "values": [_leaf(shown) for shown in plan.leaves],
        "environment": [_variable(one) for one in plan.variables],
    }


def _leaf(shown: ShownLeaf) -> dict[str, object]:
    leaf = shown.leaf
    return {
        "name": leaf.name,
        "value": _plain(leaf.value),
        "status": leaf.status,
        "note": hidden(leaf.note) or None,
        "alternatives": [hidden(text) for text in leaf.alternatives],
        "places": [_place(one) for one in shown.locations],
    }


def _variable(shown: ShownVariable) -> dict[str, object]:
    value = None if shown.value is None else hidden(shown.value)
    return {"name": shown.name, "value": value, "place": _place(shown.location)}


def _plain(value: object) -> object:
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def _place(location: Location) -> dict[str, object]:
    return {
        "file": location.file,
        "key": location.key,
        "line": location.line or None,
        "column": location.column or None,
    }
