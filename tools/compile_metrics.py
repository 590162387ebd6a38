"""Compiles the dictionary of metrics and events: YAML with sources to JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_METRIC = frozenset(
    {
        *("id", "unit", "kind", "group", "level", "interval", "means", "clauses"),
        *("proxy_for", "computed_from", "note", "aliases"),
    }
)
_ALIAS = frozenset(
    {
        *("name", "dialect", "unit", "scale", "is_at", "reads", "note", "field"),
        *("stock_exporter", "renamed", "old", "confidence", "is_vendor", "where"),
        "kind",
    }
)
_EVENT = frozenset({"id", "level", "clauses", "means", "source", "aliases"})
_KINDS = ("gauge", "counter", "histogram")
_LEVELS = ("must", "should", "may")
_READS = ("value", "presence", "with_its_dialect")
_CONFIDENCE = ("verified", "secondary", "derived", "engineering-default")
_ID = re.compile(r"[a-z][a-z_]*(\.[a-z][a-z_]*)+")


def compile_metrics(dialects: Row, metrics: Sequence[Row], events: Row) -> Any:  # noqa: ANN401 - JSON
    """Return what a run needs; raises ValueError for a row that is malformed."""
    known = dict(_dialects(dialects))
    ids: set[str] = set()
    compiled: dict[str, dict[str, Any]] = {}
    aliases: dict[str, list[list[Any]]] = {}
    for row in metrics:
        _demand_row(row, _METRIC, ids)
        _demand(row, row["kind"] in _KINDS, f"no such kind: {row['kind']}")
        compiled[row["id"]] = _metric(row)
        for name, alias in _aliases(row, known):
            result = aliases.setdefault(name, [])
            twice = any(item[:2] == alias[:2] for item in result)
            _demand(row, not twice, f"{name} twice in one dialect")
            result.append(alias)
    return {
        "dialects": known,
        "metrics": compiled,
        "aliases": aliases,
        "events": {row["id"]: _event(row, ids) for row in events["events"]},
        "event_aliases": _event_aliases(events, known),
        "computed_from": dict(_computed(metrics, ids)),
    }


def _dialects(document: Row) -> Iterator[tuple[str, str]]:
    for row in document["dialects"]:
        is_sound = bool(row["source"]) and row["confidence"] in _CONFIDENCE
        _demand(row, is_sound, "source or confidence")
        yield row["id"], row["confidence"]


def _metric(row: Row) -> dict[str, Any]:
    interval = row["interval"]
    is_sound = interval.keys() <= {"seconds", "steps", "event"} and interval
    _demand(row, bool(is_sound), "interval")
    compiled = {field: row[field] for field in ("unit", "kind", "group", "level")}
    for name in ("seconds", "steps"):
        if name in interval:
            compiled[f"interval_{name}"] = interval[name]
    compiled |= {name: row[name] for name in ("clauses", "proxy_for") if name in row}
    return {**compiled, "means": row["means"]}


def _computed(
    metrics: Sequence[Row], ids: set[str]
) -> Iterator[tuple[str, list[list[str]]]]:
    for row in metrics:
        if "computed_from" in row:
            named = {name for item in row["computed_from"] for name in item}
            _demand(row, named <= ids, "is computed from no metric")
            yield row["id"], row["computed_from"]


def _aliases(row: Row, dialects: Mapping[str, str]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the names of a metric with what they say of it.

    A new name for a field as well.
    """
    for alias in row["aliases"]:
        unknown = sorted(alias.keys() - _ALIAS)
        _demand(row, not unknown, f"unknown fields: {', '.join(unknown)}")
        _demand(row, alias["dialect"] in dialects, f"no dialect {alias['dialect']}")
        reads = alias.get("reads", "value")
        _demand(row, reads in _READS, f"reads: {reads}")
        unit, scale = alias.get("unit", row["unit"]), alias.get("scale", 1)
        same = unit == row["unit"] or scale != 1 or reads == "presence"
        same = same or "is_at" in alias or _is_a_count(unit, row["unit"])
        _demand(row, same, f"{alias['name']}: {unit} needs a scale to {row['unit']}")
        compiled = [row["id"], alias["dialect"], unit, scale, alias.get("is_at"), reads]
        yield alias["name"], compiled
        for field in ("renamed", "old"):
            if field in alias:
                # A share under its new name may be one of 1 or of 100.
                doubt = "presence" if unit == "%" else reads
                yield alias[field], [*compiled[:-1], doubt]


def _is_a_count(left: str, right: str) -> bool:
    """Return whether both count things, which have no scale: errors and events."""
    return left.startswith("{") and right.startswith("{")


def _event(row: Row, ids: set[str]) -> list[Any]:
    _demand_row(row, _EVENT, ids)
    _demand(row, bool(row["source"]), "source")
    return [row["level"], row.get("clauses", []), row["means"]]


def _event_aliases(document: Row, dialects: Mapping[str, str]) -> dict[str, str]:
    result: dict[str, str] = {}
    for row in document["events"]:
        for alias in row["aliases"]:
            is_sound = alias["dialect"] in dialects and alias["name"] not in result
            _demand(row, is_sound, f"alias {alias['name']}")
            result[alias["name"]] = row["id"]
    return result


def _demand_row(row: Row, known: frozenset[str], ids: set[str]) -> None:
    unknown = sorted(row.keys() - known)
    _demand(row, not unknown, f"unknown fields: {', '.join(unknown)}")
    _demand(row, _ID.fullmatch(row["id"]) is not None, "the id has words and dots")
    _demand(row, row["id"] not in ids, "tabulated twice")
    _demand(row, row["level"] in _LEVELS, f"no such level: {row['level']}")
    ids.add(row["id"])


def _demand(row: Row, is_sound: bool, message: str) -> None:  # noqa: FBT001 - a test
    if not is_sound:
        text = f"{row['id']}: {message}"
        raise ValueError(text)
