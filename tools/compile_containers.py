"""Compiles the catalogue of container engines: YAML with sources to JSON."""

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

_FIELDS = frozenset(
    {"id", "commands", "verbs", "entering", "marks", "options", "present", "switches"}
    | {"lists", "defaults", "source", "confidence"}
)
_DEFAULTS = frozenset(
    {"shm", "ipc", "network", "devices", "gpus", "memlock", "variables"}
)
_KNOWN_DEFAULTS = _DEFAULTS | {"shm_bytes"}


def compile_containers(document: Row) -> list[dict[str, Any]]:
    """Return what a run needs; raises ValueError for a row that is malformed."""
    compiled: list[dict[str, Any]] = []
    for row in document["engines"]:
        unknown = sorted(row.keys() - _FIELDS)
        _demand(row, not unknown, f"unknown fields: {', '.join(unknown)}")
        _demand(row, row["source"] in document["sources"], "names no source")
        defaults = row["defaults"].keys()
        _demand(row, _DEFAULTS <= defaults <= _KNOWN_DEFAULTS, "defaults")
        settings = set(row.get("options", {}).values())
        listed = {*row.get("present", {}), *row.get("lists", ())}
        _demand(row, listed <= settings, "present or lists name no setting")
        texts = {name: str(value) for name, value in row["defaults"].items()}
        kept = {name: value for name, value in row.items() if name != "confidence"}
        compiled.append(kept | {"defaults": texts})
    return compiled


def _demand(row: Row, holds: bool, reason: str) -> None:  # noqa: FBT001 - a condition
    if not holds:
        message = f"{row['id']}: {reason}"
        raise ValueError(message)
