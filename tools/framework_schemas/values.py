"""What keys take as JSON Schema: the same answer that the rules judge by."""

from collections.abc import Iterable
from typing import Any

from framework_schemas.key_tree import FREE, Row
from speccheck.validator.evidence.accepted_values import (
    Accepted,
    Loader,
    TypedRow,
    accepted,
    accepted_block,
    split_types,
)

Schema = dict[str, Any]

_BOUNDS = {
    ">=": "minimum",
    "<=": "maximum",
    ">": "exclusiveMinimum",
    "<": "exclusiveMaximum",
}


def schema_of_value(row: Row, loader: Loader) -> Schema:
    """Return the schema of the value of a key, without what stands below it."""
    taken = accepted(typed_row(row), loader)
    result = _schema(taken)
    if result:
        result.update(
            (_BOUNDS[sign], int(limit) if "." not in text else limit)
            for (sign, limit), text in zip(
                taken.bounds, str(row.get("range", "")).split(","), strict=False
            )
        )
    if taken.bounds and row.get("sentinels"):
        meant = [sentinel["value"] for sentinel in row["sentinels"]]
        return {"anyOf": [{"enum": meant}, result]}
    return result


def schema_of_block(loader: Loader) -> Schema:
    """Return the schema of a block that has no row: other keys stand below it."""
    return _schema(accepted_block(loader))


def typed_row(row: Row) -> TypedRow:
    """Return what a row of a table says of values."""
    defaults = [row.get("default", ""), *_past_defaults(row)]
    is_known = "default" in row and row.get("confidence") != "unverified"
    return TypedRow(
        row["path"],
        row["type"],
        row.get("choices") or (),
        row.get("range") or "",
        takes_null=None in defaults and is_known,
    )


def _schema(taken: Accepted) -> Schema:
    """Return the schema flat, so that editors show one message; with choices as two."""
    if taken.anything:
        return {}
    types = dict(taken.types)
    result: Schema = {}
    if taken.patterns and not taken.any_text:
        types["string"] = None
        result["pattern"] = "|".join(dict.fromkeys(taken.patterns))
        words = " or ".join(dict.fromkeys(taken.words))
        result["patternErrorMessage"] = f"must be {words}"
    if taken.any_text:
        types["string"] = None
    if "null" in types:
        del types["null"]
        types["null"] = None  # the last one
    if taken.items and not taken.any_list:
        result["items"] = _schema(taken.items[0])
    if types:
        names = [*types]
        result = {"type": names[0] if len(names) == 1 else names, **result}
    if not taken.choices:
        return result
    if taken.any_text:
        return {**result, "examples": taken.choices}
    if types.keys() <= {"null"}:
        nulls = [None] if types and None not in taken.choices else []
        return {"enum": [*taken.choices, *nulls]}
    return {"anyOf": [{"enum": taken.choices}, result]}


def takes_blocks(row: Row) -> bool:
    """Return whether the declared type has room for keys below."""
    return any(kind in FREE for kind in split_types(row["type"]))


def _past_defaults(row: Row) -> Iterable[Any]:
    return (step["value"] for step in row.get("default_history", ()))
