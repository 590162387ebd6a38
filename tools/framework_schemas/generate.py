"""Writes the JSON Schemas of the frameworks' configuration files.

Run `python tools/framework_schemas/generate.py` to write them to
schemas/json/frameworks. They are made of the key tables in schemas/catalogues.
"""

import json
from pathlib import Path
from typing import Any

from compile_catalogues import read_source
from framework_schemas.dialects import DIALECTS
from framework_schemas.schema import framework_schema
from speccheck.validator.report.published_schemas import FOLDER, SUFFIX

_WIDTH = 2  # of an indentation
_SCHEMAS_BY_NAME = ("properties", "patternProperties")


def generated(name: str) -> dict[str, Any]:
    """Return the schema of that name, from its table."""
    dialect = DIALECTS[name]
    return framework_schema(name, dialect, read_source(f"frameworks/{dialect.table}"))


def text_of(schema: dict[str, Any]) -> str:
    """Return a schema as its file's text, one key a line for readable changes."""
    return _rendered(schema, 0) + "\n"


def _rendered(value: object, depth: int) -> str:
    if not isinstance(value, dict) or not _holds_names(value):
        return json.dumps(value, ensure_ascii=False)
    inner = " " * _WIDTH * (depth + 1)
    lines = ",\n".join(
        f"{inner}{json.dumps(key, ensure_ascii=False)}: "
        + (_names(entry, depth + 1) if key in _SCHEMAS_BY_NAME else "")
        + ("" if key in _SCHEMAS_BY_NAME else _rendered(entry, depth + 1))
        for key, entry in value.items()
    )
    return "{\n" + lines + "\n" + " " * _WIDTH * depth + "}"


def _names(entries: dict[str, Any], depth: int) -> str:
    inner = " " * _WIDTH * (depth + 1)
    lines = ",\n".join(
        f"{inner}{json.dumps(name, ensure_ascii=False)}: {_rendered(entry, depth + 1)}"
        for name, entry in entries.items()
    )
    return "{\n" + lines + "\n" + " " * _WIDTH * depth + "}"


def _holds_names(value: dict[str, Any]) -> bool:
    """Return whether the schema lists keys, itself or in what its lists hold."""
    if not value.keys().isdisjoint(_SCHEMAS_BY_NAME):
        return True
    items = value.get("items")
    return isinstance(items, dict) and _holds_names(items)


def write_all(folder: Path) -> None:
    """Write every schema to its file."""
    folder.mkdir(exist_ok=True)
    for name in DIALECTS:
        (folder / f"{name}{SUFFIX}").write_text(text_of(generated(name)), "utf-8")


if __name__ == "__main__":
    write_all(Path(FOLDER))
