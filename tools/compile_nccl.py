"""Compiles the catalogue of NCCL variables: YAML with sources to JSON for the run.

`python tools/compile_nccl.py` writes it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from speccheck.validator.catalogue.files import CATALOGUES, compiled_path

Row = Mapping[str, Any]

KNOWN_FIELDS = frozenset(
    {
        *("name", "family", "type", "values", "choices", "minimum", "maximum"),
        *("default", "default_history", "added", "removed", "deprecated"),
        *("replacement", "renamed", "costly", "cost", "risk", "documented"),
        *("confidence", "meaning", "source", "across_nodes"),
    }
)
PLATFORM_FIELDS = frozenset(
    {
        "id",
        "provider",
        "instances",
        "marked_by",
        "fabric",
        "status",
        "variables",
        "source",
    }
)
STATUSES = (
    *("vendor-published", "set-by-plugin", "set-by-image"),
    *("vendor-example", "nvidia-test-profile", "superseded"),
)
CARRIED = (
    *("choices", "minimum", "maximum", "default", "replacement", "renamed"),
    *("costly", "cost", "across_nodes"),
)
ACROSS_NODES = ("", "alike", "free")
NUMERIC = ("boolean", "integer", "bytes")
RISKS = ("safe", "tuning", "debug-only", "dangerous-in-production")

_RELEASE = re.compile(r"(<=)?(\d+(?:\.\d+)*)")


def compile_nccl(variables: Row, platforms: Row) -> dict[str, Any]:
    """Return what a run needs; raises ValueError for a row that is malformed."""
    rows: Sequence[Row] = variables["variables"]
    names = [row["name"] for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"tabulated twice: {', '.join(twice)}"
        raise ValueError(message)
    return {
        "newest": variables["newest_release"],
        "assumed": variables["assumed_release"]["value"],
        "variables": {row["name"]: _compile_row(row) for row in rows},
        "platforms": [_compile_platform(row) for row in platforms["platforms"]],
        "left_to_the_job": platforms.get("left_to_the_job", []),
    }


def _compile_row(row: Row) -> dict[str, Any]:
    unknown = row.keys() - KNOWN_FIELDS
    if unknown or not row.get("source") or row["risk"] not in RISKS:
        message = f"{row['name']}: unknown {sorted(unknown)}, or no source or risk"
        raise ValueError(message)
    if row.get("across_nodes", "") not in ACROSS_NODES:
        message = f"{row['name']}: across_nodes is alike or free"
        raise ValueError(message)
    if ("costly" in row) != ("cost" in row):
        message = f"{row['name']}: costly values and their cost stand together"
        raise ValueError(message)
    compiled: dict[str, Any] = {"family": row["family"]}
    read_as = _read_as(row)
    if read_as != "text":
        compiled["read_as"] = read_as
    compiled |= {name: row[name] for name in CARRIED if name in row}
    if row["risk"] != "tuning":
        compiled["risk"] = row["risk"]
    if "default_history" in row:
        compiled["defaults"] = [
            [step["from"], step["value"]] for step in row["default_history"]
        ]
    if added := _added(row.get("added")):
        compiled["added"] = added
    if removed := _removed(row.get("removed")):
        compiled["removed"] = removed
    if "deprecated" in row:
        compiled["deprecated"] = row["deprecated"]
    return compiled


def _read_as(row: Row) -> str:
    """Return how a text is read.

    Only NCCL's own parser is known well enough for that.
    """
    if row["family"] != "nccl":
        return "text"
    choices: Sequence[str] = row.get("choices", ())
    if row["type"] == "enumeration":
        numeric = choices and all(choice.lstrip("-").isdecimal() for choice in choices)
        if row["name"] == "NCCL_DEBUG":
            return "debug level"
        return "integer" if numeric else "text"
    if row["type"] == "level":
        return "level"
    return "integer" if row["type"] in NUMERIC else "text"


def _added(text: str | None) -> str:
    """Return when it was added; empty if as old as the oldest release examined."""
    match = _RELEASE.fullmatch(text or "")
    return match[2] if match and not match[1] else ""


def _removed(text: str | None) -> str:
    match = _RELEASE.fullmatch(text or "")
    if match is None:
        return ""
    return "0" if match[1] else match[2]


def _compile_platform(row: Row) -> list[Any]:
    unknown = row.keys() - PLATFORM_FIELDS
    if unknown or not row.get("source"):
        message = f"{row['id']}: unknown {sorted(unknown)}, or no source"
        raise ValueError(message)
    if row["status"] not in STATUSES:
        message = f"{row['id']}: no such status: {row['status']}"
        raise ValueError(message)
    marked_by = row.get("marked_by", "")
    return [row["id"], row["instances"], marked_by, row["variables"], row["status"]]


def compiled_text() -> str:
    """Return the text that the compiled catalogue must have."""
    document = compile_nccl(_read("variables"), _read("platforms"))
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def _read(name: str) -> Any:  # noqa: ANN401 - YAML; the compiler looks at each field
    path = Path(CATALOGUES, "nccl", f"{name}.yaml")
    return yaml.load(path.read_bytes(), yaml.CSafeLoader)


def main() -> None:
    """Write the compiled catalogue."""
    Path(compiled_path("nccl")).write_text(compiled_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
