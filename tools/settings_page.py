"""The table of settings in docs/settings.md, and their JSON Schema, of their table.

Run `python tools/settings_page.py` to write the page anew. The schema is that of
`speccheck.toml`, and of the table `tool.speccheck` of a pyproject.toml.
"""

import json
from pathlib import Path
from typing import Any

from speccheck.validator.cli.settings.keys import FACT_KEYS, FACTS, KEYS, Key

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
_BEGIN, _END = "<!-- settings: generated -->\n", "<!-- end of settings -->\n"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MOST = 1e12
_NAME = {"pattern": "\\S"}  # nothing blank
_TEXT: dict[str, Any] = {"type": "string", **_NAME}
_TEXTS: dict[str, Any] = {"anyOf": [{"type": "array", "items": _TEXT}, _TEXT]}
_ABOVE_ZERO = {"exclusiveMinimum": 0, "exclusiveMaximum": _MOST}
_KINDS = {
    "switch": "true or false",
    "text": "text",
    "texts": "list of texts",
    "integer": "whole number",
    "number": "number",
    "path": "path",
    "levels": "table: name to level",
    "names_by_pattern": "table: pattern to names",
    "facts_by_pattern": "table: pattern to facts",
}


def table() -> str:
    """Return all settings, a row each."""
    lines = [
        "| Setting | Value | Default | What it says | Option |",
        "| --- | --- | --- | --- | --- |",
        *(_row(key) for key in KEYS),
    ]
    return "\n".join(lines) + "\n"


def _row(key: Key) -> str:
    kind = " or ".join(f"`{word}`" for word in key.words) or _KINDS[key.kind]
    if key.kind == "levels":
        kind = _KINDS[key.kind]
    default = f"`{key.default}`" if key.default else ""
    flag = key.option or key.undone_by
    option = f"`{flag}`" if flag else ""
    cells = (f"`{key.name}`", kind, default, key.help, option)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def page(text: str) -> str:
    """Return the page with the table as it is now."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}\n{table()}\n{end}{after}"


def settings_schema() -> dict[str, Any]:
    """Return the schema, for editors and for whoever writes settings by a program."""
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
    result: dict[str, Any] = {"description": key.help, **schema}
    if key.default and key.kind != "levels":
        result["default"] = json.loads(key.default)
    return result


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


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
