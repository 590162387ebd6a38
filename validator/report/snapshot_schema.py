"""The JSON Schema of `speccheck-snapshot/1`, made of the parts of a node."""

import sys
from typing import Any

from speccheck.validator.evidence.node.node import ENGINES, KINDS, SPECIMENS
from speccheck.validator.evidence.node.part import Part
from speccheck.validator.report.leaf_comments import leaf_comments
from speccheck.validator.sources.formats.snapshot import SCHEMA

_ABSENCE = {"$ref": "#/$defs/absence"}
_TYPES: dict[object, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
}
_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0}
_LAUNCH: dict[str, Any] = {
    "description": "how the process was started that took it: only what is known",
    "type": "object",
    "properties": {
        "engine": {"enum": [*ENGINES], "description": "whose the node is"},
        "node": {"type": "string", "description": "the name by which that drains it"},
        "job": {"type": "string"},
        "attempt": {**_NUMBER, "description": "how often it was started before"},
        "rank": _NUMBER,
        "ranks": _NUMBER,
        "nodes": {**_NUMBER, "description": "of the job, or of its step"},
        "node_list": {"type": "string", "description": "folded: n[01-64]"},
        "local_rank": _NUMBER,
        "local_ranks": _NUMBER,
        "rank_from": {"type": "string", "description": "the variable that told it"},
        "unknown": {**_TEXTS, "description": "by field: why it is not known"},
    },
    "additionalProperties": False,
}
_DEFINITIONS: dict[str, Any] = {
    "absence": {
        "description": "why there is no value; code: of the system or the library",
        "type": "object",
        "properties": {
            "status": {"enum": ["absent", "not_supported", "not_permitted", "failed"]},
            "source": {"type": "string"},
            "message": {"type": "string"},
            "code": {"type": "string"},
        },
        "required": ["status"],
        "additionalProperties": False,
    }
}

_SYNTHETIC: dict[str, Any] = {
    "description": "there is no such machine: what made it up, and of what",
    "type": "object",
    "properties": {
        "by": {"type": "string"},
        "version": {"type": "string"},
        "seed": {"type": "integer"},
        "profile": {"type": "string", "description": "type of the machine"},
        "day": {"type": "integer", "description": "the same machines on other days"},
        "note": {"type": "string"},
    },
    "required": ["by"],
    "additionalProperties": False,
}


def snapshot_schema() -> dict[str, Any]:
    """Return the schema of what `speccheck probe` writes and `speccheck` reads."""
    kinds = {kind: _kind(part) for kind, part in KINDS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "speccheck snapshot of a node",
        "description": "What a machine is and how it is. Each leaf is a value or says "
        "why there is none; whatever is left out is not known, and never passes.",
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "tool": {**_TEXTS, "description": "what took it: name and version"},
            "taken": {"type": "string", "description": "when, in UTC"},
            "seconds": {"type": "number", "description": "how long that took"},
            "cut_short": {
                **_TEXTS,
                "description": "by kind of part: why leaves are missing",
            },
            "partly_listed": {
                "type": "array",
                "items": {"enum": sorted(KINDS)},
                "description": "kinds of which parts may be missing",
            },
            "sources": {
                **_TEXTS,
                "description": "by kind.leaf: the path or the call that was read",
            },
            "launch": _LAUNCH,
            "synthetic": _SYNTHETIC,
            **kinds,
        },
        "required": ["schema"],
        "additionalProperties": False,
        "$defs": _DEFINITIONS,
    }


def _kind(part: type[Part]) -> dict[str, Any]:
    description = (part.__doc__ or "").strip().partition("\n")[0]
    comments = leaf_comments(sys.modules[part.__module__])
    leaves: dict[str, Any] = {}
    for leaf, annotation in part.__annotations__.items():
        leaves[leaf] = {"anyOf": [_value(annotation.__args__[0]), _ABSENCE]}
        comment = comments.get(f"{part.__name__}.{leaf}", "")
        if f"{part.kind}.{leaf}" in SPECIMENS:
            comment += ("; " if comment else "") + "a digest unless it was to be kept"
        if comment:
            leaves[leaf]["description"] = comment
    content: dict[str, Any] = {
        "type": "object",
        "properties": leaves,
        "additionalProperties": False,
    }
    if part.is_single:
        return {"description": description, **content}
    several = {"type": "array", "items": content}
    return {"description": description, "anyOf": [several, _ABSENCE]}


def _value(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a type, or a generic one
    """Return the schema of a leaf.

    Elements that could not be read are null or say why.
    """
    if kind in _TYPES:
        return {"type": _TYPES[kind]}
    element = kind.__args__[0].__args__[0]
    items = {"anyOf": [{"type": [_TYPES[element], "null"]}, _ABSENCE]}
    return {"type": "array", "items": items}
