"""One value of a plan as plain data for `speccheck-plan/1`."""

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.run.plan_dump import ShownLeaf


def leaf_data(shown: ShownLeaf) -> dict[str, object]:
    """A leaf with how it is known and where it is stated."""
    leaf = shown.leaf
    return {
        "name": leaf.name,
        "value": _plain(leaf.value),
        "status": leaf.status,
        "note": hidden(leaf.note) or None,
        "alternatives": [hidden(text) for text in leaf.alternatives],
        "places": [place_data(one) for one in shown.locations],
    }


def _plain(value: object) -> object:
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def place_data(location: Location) -> dict[str, object]:
    """A place in a file; null without a position."""
    return {
        "file": location.file,
        "key": location.key,
        "line": location.line or None,
        "column": location.column or None,
    }
