"""Compiles the key tables of the frameworks: YAML with sources to JSON for the run."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Row = Mapping[str, Any]

FAMILIES = {
    "hf-training-arguments": "transformers",
    "hf-model-config": "transformers",
}
CARRIED = (*("choices", "range", "deprecated", "deprecated_by", "renamed", "aliases"),)
VALUES = ("choices", "range", "sentinels")
FREE = ("map", "object", "any", "list")
KNOWN_FIELDS = frozenset(
    {
        *CARRIED,
        "required",
        *("path", "type", "since", "removed_in", "default", "default_history"),
        *("default_by_group", "unit", "group", "seen", "note", "confidence", "source"),
        "sentinels",  # values that are no amounts, each with what they mean
        *("dest", "action"),  # Megatron-LM: what the flag sets, and how
        "holds",  # launchers: rows that also stand below it, by their beginning
        "values_of",  # a map handed on: the table whose types hold below, or its part
    }
)
_OF_FORK = frozenset(
    {"name", "repository", "commit", "source", "settles", "adds", "takes"}
)
COMPUTED = "computed"  # in a default_history: worked out by the framework


def compile_framework(table: Row, tables: Mapping[str, Row]) -> dict[str, Any]:
    """Return what a run needs of one table; raise ValueError for a malformed row.

    Args:
        table: the one to compile.
        tables: all, by name: maps are handed on to classes of other frameworks.
    """
    rows: list[Row] = table["keys"]
    for row in rows:
        unknown = row.keys() - KNOWN_FIELDS
        if unknown or not row.get("source"):
            message = f"{row['path']}: unknown {sorted(unknown)} or no source"
            raise ValueError(message)
        if not isinstance(row.get("deprecated_by", []), list):
            message = f"{row['path']}: deprecated_by is no list of keys"
            raise ValueError(message)  # noqa: TRY004 - of the file
    sections = sorted({_section(row["path"]) for row in rows})
    return {
        "framework": table["framework"],
        "family": FAMILIES.get(table["framework"], table["framework"]),
        "versions": [_plain_version(row["version"]) for row in table["versions"]],
        **{name: table[name] for name in ("loaders", "packages") if name in table},
        "sections": {
            section: _compile_section(table, section, tables) for section in sections
        },
    }


def compile_forks(table: Row) -> list[dict[str, Any]]:
    """Return what a run needs of a framework's forks.

    Raises ValueError for a bad row.
    """
    for row in table["forks"]:
        if row.keys() - _OF_FORK or not row.get("source"):
            message = f"{row.get('name')}: unknown fields or no source"
            raise ValueError(message)
    return [
        {
            "name": row["name"],
            "adds": row["adds"],
            **({"takes": row["takes"]} if "takes" in row else {}),
            "settles": {
                field: [settled["value"], settled["because"]]
                for field, settled in row.get("settles", {}).items()
            },
        }
        for row in table["forks"]
    ]


def _section(path: str) -> str:
    """Return `slurm` of `slurm:--nodes`; empty in tables without sections."""
    return path.partition(":")[0] if ":" in path else ""


def _within(section: str, path: str) -> str | None:
    """Return the path without the prefix of its section; None if of another."""
    return path[len(section) + bool(section) :] if _section(path) == section else None


def _compile_section(
    table: Row, section: str, tables: Mapping[str, Row]
) -> dict[str, Any]:
    rows = {
        name: row
        for row in table["keys"]
        if (name := _within(section, row["path"])) is not None
    }
    keys = {name: _compile_row(section, row) for name, row in rows.items()}
    for name, row in rows.items():
        has_own = any(other.startswith((f"{name}.", f"{name}[].")) for other in rows)
        if not has_own and any(kind in row["type"] for kind in FREE):
            keys.setdefault(name if name.endswith("*") else f"{name}.**", "any")
        if "values_of" in row:
            below = name.removesuffix(".**")
            for inner, values in _values_of(row["values_of"], tables):
                keys.setdefault(f"{below}.{inner}", values)
    blocks = sorted(_blocks(rows))
    return {
        "unknown_keys": _compile_policy(table["unknown_key_policy"], section),
        "aliases": {
            alias: name
            for name, row in rows.items()
            for text in row.get("aliases", ())
            if (alias := _within(section, text)) and alias not in rows
        },
        "blocks": blocks,
        "patterns": [name for name in (*keys, *blocks) if "*" in name],
        "required": [name for name, row in rows.items() if is_required(row)],
        "holds": {name: row["holds"] for name, row in rows.items() if "holds" in row},
        "keys": keys,
    }


def _values_of(
    text: str, tables: Mapping[str, Row]
) -> Iterator[tuple[str, str | dict[str, Any]]]:
    """Yield the keys of a table, or below a block of it, with the values they take.

    Releases of that framework, and its defaults, are left to it.
    """
    framework, _, block = text.partition(":")
    beginning = f"{block}." if block else ""
    for row in tables[framework]["keys"]:
        path = row["path"]
        if path.startswith(beginning) and "*" not in path and row["type"] != "any":
            taken = {name: row[name] for name in VALUES if name in row}
            compiled = _compile_row("", {"path": path, "type": row["type"], **taken})
            yield path.removeprefix(beginning), compiled


def is_required(row: Row) -> bool:
    """Return whether every tabulated release demands a key, in whichever class."""
    is_always_there = "<=" in str(row.get("since", "")) and not row.get("removed_in")
    return (
        bool(row.get("required"))
        and is_always_there
        and row.get("group", "core") == "core"
    )


def _blocks(names: Iterable[str]) -> set[str]:
    """Return the paths above a key that have no row of their own."""
    known = set(names)
    blocks: set[str] = set()
    for name in known:
        above = name.rpartition(".")[0]
        while above:
            blocks |= {above, above.removesuffix("[]")}
            above = above.rpartition(".")[0]
    return {name for name in blocks - known if name.removesuffix("[]") not in known}


def _compile_policy(policy: Row, section: str) -> dict[str, Any]:
    """Return the policy, by the name of the section in a table with sections."""
    rows = policy["sections"]
    if section:
        own = next((row for row in rows if row["path"] == section), policy)
        return {
            "default": own.get("policy", policy["default"]),
            "sections": [],
            "open": own.get("open", False),
            "opened_by": [],
            "settled": own.get("settled", policy.get("settled", [])),
        }
    return {
        "default": policy["default"],
        "sections": [
            [
                "" if row["path"] == "*" else row["path"],
                row["policy"],
                row.get("versions", ""),
            ]
            for row in rows
        ],
        "open": policy.get("open", False),
        "opened_by": policy.get("opened_by", []),
        "settled": policy.get("settled", []),
    }


def _compile_row(section: str, row: Row) -> str | dict[str, Any]:
    compiled: dict[str, Any] = {name: row[name] for name in CARRIED if row.get(name)}
    if "sentinels" in row:
        compiled["sentinels"] = [
            [sentinel["value"], sentinel["means"]] for sentinel in row["sentinels"]
        ]
    if "aliases" in compiled:
        compiled["aliases"] = [_within(section, name) for name in row["aliases"]]
    for name in ("since", "removed_in"):
        # `<=X`: in the oldest tabulated version, so it sets no lower bound
        if name in row and "<=" not in row[name]:
            compiled[name] = _plain_version(row[name])
    defaults = _defaults(row)
    if defaults:
        compiled["defaults"] = defaults
    if "default_by_group" in row:
        compiled["defaults_by_group"] = row["default_by_group"]
    return {"type": row["type"], **compiled} if compiled else row["type"]


def _defaults(row: Row) -> list[list[Any]]:
    """Return the pairs of a version and the default from it on.

    No value where it is computed.
    """
    if "default_history" in row:
        return [
            [_since(step["from"])]
            + ([] if step["value"] == COMPUTED else [step["value"]])
            for step in row["default_history"]
        ]
    unknown = "default" not in row or row.get("confidence") == "unverified"
    if unknown or (row["type"] == "object" and row["default"] is None):
        return []
    return [["", row["default"]]]


def _since(text: str) -> str:
    return "" if "<=" in text else _plain_version(text)


def _plain_version(text: str) -> str:
    """Return `core_v0.12.3` as 0.12.3, `v0.2.0` as 0.2.0."""
    name, _, number = text.rpartition(" ")
    for prefix in ("core_v", "core_r", "v"):
        if number.startswith(prefix) and number[len(prefix)].isdigit():
            number = number.removeprefix(prefix)
    return f"{name} {number}".strip()
