"""The comparison of two snapshots as JSON, `speccheck-diff/1`.

Fields are only ever added.
"""

import json
from math import isfinite
from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.comparison.snapshots import (
    Comparison,
    Difference,
    NoValue,
    Side,
)
from speccheck.validator.evidence.node.changes import VARYING
from speccheck.validator.evidence.secrets import hidden

SCHEMA = "speccheck-diff/1"
_OF_ANOTHER = "is another one on each machine, or each time it is measured"


def diff_json(found: Comparison, exit_code: int) -> str:
    """The whole document."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "verdict": found.verdict,
        "exit_code": exit_code,
        "a": _side(found.a),
        "b": _side(found.b),
        "machine": {"answer": found.machine.answer, "reason": found.machine.reason},
        "hours": found.hours,
        "was_restarted": found.was_restarted,
        "compared": found.compared,
        "differences": [_difference(one) for one in found.notable],
        "varying": [
            {**_difference(one), "reason": VARYING.get(one.leaf, _OF_ANOTHER)}
            for one in found.varying
        ],
        "not_compared": [one._asdict() for one in found.not_compared],
    }
    return json.dumps(document, indent=1) + "\n"


def _side(side: Side) -> dict[str, object]:
    return {
        "file": side.file,
        "name": side.name,
        "taken": side.taken,
        "release": side.release,
        "is_synthetic": side.is_synthetic,
    }


def _difference(one: Difference) -> dict[str, object]:
    return {
        "group": one.group,
        "leaf": one.leaf,
        "part": one.part,
        "change": one.change,
        "a": _value(one.a),
        "b": _value(one.b),
        "by": one.by,
        "per_hour": one.per_hour,
        "note": one.note,
    }


def _value(found: object) -> Any:  # noqa: ANN401 - content of JSON
    """A value as the snapshot has it, without secrets; of none, why."""
    if isinstance(found, NoValue):
        return {"no_value": hidden(found.reason), "is_certain": found.is_known}
    if isinstance(found, str):
        return hidden(found)
    if isinstance(found, float) and not isfinite(found):
        return str(found)  # JSON has no NaN
    if isinstance(found, list):
        return [_value(one) for one in found]
    return None if isinstance(found, dict) else found
