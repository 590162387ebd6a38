"""The JSON Schema of the settings, made of their table.

It is that of `speccheck.toml`, and of the table `tool.speccheck` of a pyproject.toml.
"""

import json
from typing import Any

from speccheck.validator.cli.settings.keys import (
    FACT_KEYS,
    FACTS,
    KEYS,
    Key,
)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MOST = 1e12
_NAME = {"pattern": "\\S"}  # nothing blank
_TEXT: dict[str, Any] = {"type": "string", **_NAME}
_TEXTS: dict[str, Any] = {"anyOf": [{"type": "array", "items": _TEXT}, _TEXT]}
_ABOVE_ZERO = {"exclusiveMinimum": 0, "exclusiveMaximum": _MOST}


def settings_schema() -> dict[str, Any]:
    """The schema, for editors and for whoever writes settings by a program."""
    properties: dict[str, Any] = {}
    for key in KEYS:
        if not key.name.startswith(f"{FACTS}."):
            properties[key.name] = _described(key, _schema(key))
    properties[FACTS] = {
        "description": "facts of the job that files seldom state",
        "$ref": f"#/$defs/{FACTS}",
    }
    facts = {name: _described(key, _schema(key)) for name, key in FACT_KEYS.items()}
    return {
        "$schema": _DRAFT,
        "title": "speccheck settings",
        "description": "speccheck.toml, or [tool.speccheck] in pyproject.toml",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": {
            FACTS: {
                "type": "object",
                "properties": facts,
                "additionalProperties": False,
            }
        },
    }


def _described(key: Key, schema: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"description": key.help, **schema}
    if key.default and key.kind != "levels":
        told["default"] = json.loads(key.default)
    return told


def _schema(key: Key) -> dict[str, Any]:
    words = {"enum": [*key.words]} if key.words else _TEXT
    by_kind: dict[str, dict[str, Any]] = {
        "switch": {"type": "boolean"},
        "text": words,
        "path": _TEXT,
        "texts": _TEXTS,
        "integer": {"type": "integer", **_ABOVE_ZERO},
        "number": {"type": "number", **_ABOVE_ZERO},
        "levels": _table(words),
        "names_by_pattern": _table(_TEXTS),
        "facts_by_pattern": _table({"$ref": f"#/$defs/{FACTS}"}),
    }
    return by_kind[key.kind]


def _table(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "propertyNames": _NAME, "additionalProperties": values}
