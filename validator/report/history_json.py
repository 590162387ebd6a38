"""What a history tells, as JSON: `speccheck-history/1`. Fields are only ever added."""

import json

from speccheck.validator import VERSION
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.summary import Told
from speccheck.validator.fleet.history.trends import ValueChange

SCHEMA = "speccheck-history/1"


def history_json(told: Told) -> str:
    """The whole document; times are seconds since 1970."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "file": told.file,
        "node": told.node or None,
        "leaf": told.leaf or None,
        "runs": [
            {**_row(one), "is_synthetic": bool(one.is_synthetic)} for one in told.runs
        ],
        "verdicts": [_row(one) for one in told.days],
        "not_fit": [
            {"node": node, "state": state, "reason": reason}
            for node, state, reason in told.unfit
        ],
        "flips": [_row(one) for one in told.flips],
        "changes": [_change(one) for one in told.changes],
        "growth": [
            {**_row(one), "points": [list(point) for point in one.points]}
            for one in told.growth
        ],
        "numbers": [
            {**_row(one), "points": [_row(point) for point in one.points]}
            for one in told.numbers
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _row(one: Record) -> dict[str, object]:
    found = one._asdict()
    found.pop("number", None)
    return found


def _change(one: ValueChange) -> dict[str, object]:
    row = {**_row(one), "before": _value(one.before), "now": _value(one.now)}
    row["nodes"] = one.nodes or None
    return row


def _value(text: str | None) -> object:
    """A value; of none, why; null where no node told the leaf."""
    if text is not None and text.startswith("?"):
        return {"not_known": text[1:]}
    return text if text is None else text.removeprefix("=")
