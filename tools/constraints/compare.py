"""Compares what a tree says with a key table, or with an older tree."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from constraints.conditions import Test
from constraints.keys import LEAST_SHARE, Definitions, Key, bounds, extract_keys
from constraints.markers import extract_markers
from constraints.table import KeyTable, KnownRelation, Names, Row
from constraints.tree import SourceTree
from constraints.validators import Constraint, extract_constraints

_STOPS = frozenset({"refused", "removed"})
_LOOSE = frozenset({"any", "map", "object", "list"})
_SOURCE = re.compile(r"([\w/.-]+\.(?:py|go|c|h))(?::(\d+))?")
_BESIDE = 3  # lines between a constraint and the place that a relation names


class Extract(NamedTuple):
    """All that a tree says."""

    keys: tuple[Key, ...]
    constraints: tuple[Constraint, ...]
    files: tuple[str, ...]
    passed_over: tuple[str, ...]


class Difference(NamedTuple):
    """A key that is new, gone or changed, in words; source: where it stands."""

    kind: str
    key: str
    text: str
    source: str = ""


class Recall(NamedTuple):
    """A tabulated relation and how the walk came upon it again."""

    relation: str
    by_line: bool
    by_keys: bool
    in_tree: bool


def extract(tree: SourceTree, table: KeyTable) -> Extract:
    """Return the keys and constraints of a tree, in the names of a table."""
    names = Names(table.rows.values())
    definitions: Definitions = extract_keys(tree)
    keys, rules = extract_markers(tree, names, table.section)
    constraints = extract_constraints(tree, names, definitions.constants)
    defined = (*definitions.keys, *keys)
    owners = _concerned(defined, names)
    known = {
        name for key in defined if key.owner in owners for name in (key.path, key.dest)
    }
    constraints += rules
    files = {
        constraint.file
        for constraint in constraints
        if any(name in known or names.has(name) for name in constraint.names)
    }
    places = table.places()
    concerned = [
        constraint._replace(source=_placed(constraint.source, places))
        for constraint in constraints
        if constraint.file in files
    ]
    return Extract(
        defined,
        tuple(concerned),
        tuple(tree.names),
        tree.passed_over,
    )


def _placed(source: str, places: Mapping[str, str]) -> str:
    """Return a source as the table writes it, where it names that file."""
    name, colon, rest = source.partition(":")
    fitting = [path for path in places if f"/{path}".endswith(f"/{name}")]
    if len(fitting) != 1:
        common = max(places.values(), key=[*places.values()].count, default="")
        return f"{common} {source}".strip()
    return f"{places[fitting[0]]} {fitting[0]}{colon}{rest}"


def key_differences(new: Extract, table: KeyTable) -> Iterator[Difference]:
    """Yield keys that the table lacks, has otherwise, or that a file no longer has."""
    names = Names(table.rows.values())
    concerned = _concerned(new.keys, names)
    seen: set[str] = set()
    for defined in new.keys:
        is_field = table.has_flags and not defined.path.startswith("-")
        key = defined._replace(path=defined.dest) if is_field else defined
        if key.owner not in concerned or key.path in seen:
            continue
        seen.add(key.path)
        if not _is_known(key, names):
            yield Difference("new", key.path, described(key), key.source)
            continue
        name = names.resolve(key.path.split(".")).text
        is_same_key = name == key.path or name.startswith("-")
        row = table.rows.get(name)
        if row and is_same_key and (text := _changes(key, row)):
            yield Difference("changed", name, text, key.source)
    yield from _gone(new, table)


def _concerned(keys: Iterable[Key], names: Names) -> set[str]:
    """Return the classes and files of which the table knows enough keys."""
    owners: dict[str, list[bool]] = {}
    for key in keys:
        owners.setdefault(key.owner, []).append(_is_known(key, names))
    return {
        owner
        for owner, known in owners.items()
        if sum(known) >= LEAST_SHARE * len(known)
    }


def _is_known(key: Key, names: Names) -> bool:
    paths = [key.path, *key.aliases, *([key.dest] if "." not in key.path else [])]
    return any(path and names.is_any(path.split(".")) for path in paths)


def described(key: Key) -> str:
    """Return type, choices, range and default of a key."""
    texts = [key.type]
    if key.choices:
        texts.append(f"choices {list(key.choices)}")
    texts += [f"range {key.range}"] if key.range else []
    texts += [f"pattern {key.pattern}"] if key.pattern else []
    texts += [f"default {key.default!r}"] if key.has_default else []
    return ", ".join([*texts, *(["deprecated"] if key.is_deprecated else [])])


def _changes(key: Key, row: Row) -> str:
    texts = []
    types, tabulated = (
        _kinds(text) for text in (key.type, str(row.get("type", "any")))
    )
    is_clear = not (types | tabulated) & _LOOSE and types and tabulated
    if is_clear and not key.choices and not types & tabulated:
        texts.append(f"type {row['type']} -> {key.type}")
    have = {str(choice) for choice in row.get("choices", ())}
    if key.choices and {str(choice) for choice in key.choices} != have:
        shown = sorted({str(choice) for choice in key.choices})
        texts.append(f"choices {sorted(have)} -> {shown}")
    if key.range and bounds(key.range) != bounds(str(row.get("range", ""))):
        texts.append(f"range {row.get('range', 'none')} -> {key.range}")
    is_sure = "default" in row and row.get("confidence") != "unverified"
    if key.has_default and is_sure and "default_by_group" not in row:
        was, is_ = row["default"], key.default
        is_same = was == is_ or str(was) == str(is_)
        if not is_same and not (was in (None, {}, []) and is_ in (None, {}, [])):
            texts.append(f"default {was!r} -> {is_!r}")
    return "; ".join(texts)


def _kinds(text: str) -> set[str]:
    alike = {"path": "str", "flag": "bool", "enum": "str", "int": "float"}
    words = [re.sub(r"\[.*", "", word) for word in text.split("|")]
    return {alike.get(word, word) for word in words} - {"null"}


def _gone(new: Extract, table: KeyTable) -> Iterator[Difference]:
    own = Names(
        {"path": key.path, "dest": key.dest, "aliases": key.aliases} for key in new.keys
    )
    blocks = {key.path.rpartition(".")[0] for key in new.keys}
    for path, row in table.rows.items():
        source = str(row.get("source", ""))
        above = path.rpartition(".")[0]
        is_free = "*" in path or (above and above not in blocks)
        if "removed_in" in row or is_free or not _is_in_tree(source, new.files):
            continue
        written = (path, str(row.get("dest") or path), *row.get("aliases", ()))
        if not any(own.is_any(name.split(".")) for name in written):
            yield Difference("gone", path, "the file has no such key", source)


def _is_in_tree(source: str, files: Sequence[str]) -> bool:
    match = _SOURCE.search(source)
    return match is not None and any(_is_same_file(match[1], name) for name in files)


def _is_same_file(source: str, name: str) -> bool:
    return f"/{source}".endswith(f"/{name}") or f"/{name}".endswith(f"/{source}")


def unspoken(
    constraints: Iterable[Constraint], table: KeyTable
) -> list[tuple[Constraint, list[str]]]:
    """Return constraints that no relation or row speaks of, with relations near."""
    names = [
        (known, {*known.relation.names}, known.relation.kind in _STOPS)
        for known in table.relations
    ]
    result = []
    for constraint in constraints:
        own = {*constraint.names}
        stops = constraint.kind in _STOPS
        same = [
            known for known, keys, is_stop in names if (keys, is_stop) == (own, stops)
        ]
        if same or _row_speaks(constraint, table.rows):
            continue
        near = [
            known.relation.id
            for known, keys, _ in names
            if own & keys and f"{constraint.function})" in known.source
        ]
        result.append((constraint, near))
    return result


def _row_speaks(constraint: Constraint, rows: Mapping[str, Row]) -> bool:
    """Return whether a single key's row says it: choices, range, removed and so on."""
    condition = constraint.condition
    if not isinstance(condition, Test) or condition.name not in rows:
        return False
    row = rows[condition.name]
    if constraint.kind == "deprecated":
        return bool(row.get("deprecated") or row.get("removed_in"))
    if condition.test in {"set", "stated", "given"}:
        return bool(
            row.get("removed_in") or row.get("deprecated") or row.get("required")
        )
    said_by = {"is": "choices", "is_not": "choices", "is_not_a": "type", "is_a": "type"}
    return said_by.get(condition.test, "range") in row


def since(new: Extract, old: Extract) -> tuple[list[Difference], list[Constraint]]:
    """Return how keys differ between two trees, and the constraints that are new."""
    before = {key.path: key for key in old.keys}
    after = {key.path: key for key in new.keys}
    result = [
        Difference("new", path, described(key), key.source)
        for path, key in after.items()
        if path not in before
    ]
    result += [
        Difference("gone", path, described(key), key.source)
        for path, key in before.items()
        if path not in after
    ]
    for path, key in after.items():
        was = described(before[path]) if path in before else ""
        if was and was != described(key):
            text = f"{was} -> {described(key)}"
            result.append(Difference("changed", path, text, key.source))
    known = {constraint.identity for constraint in old.constraints}
    have = {constraint.identity for constraint in new.constraints}
    for constraint in old.constraints:
        if constraint.identity not in have:
            text = f"{constraint.kind}: {constraint.message}"
            result.append(
                Difference("gone", constraint.identity[2], text, constraint.source)
            )
    return result, [item for item in new.constraints if item.identity not in known]


def recalls(new: Extract, relations: Iterable[KnownRelation]) -> list[Recall]:
    """Return which relations the walk came upon again: by source line, by keys."""
    keys = {(frozenset(item.names), item.kind in _STOPS) for item in new.constraints}
    places = [_place(item.source) for item in new.constraints]
    result = []
    for known in relations:
        relation = known.relation
        file, line = _place(known.source)
        by_line = line > 0 and any(
            abs(line - other) <= _BESIDE and _is_same_file(file, name)
            for name, other in places
        )
        by_keys = (frozenset(relation.names), relation.kind in _STOPS) in keys
        in_tree = _is_in_tree(known.source, new.files)
        result.append(Recall(relation.id, by_line, by_keys, in_tree))
    return result


def _place(source: str) -> tuple[str, int]:
    match = _SOURCE.search(source)
    return (match[1], int(match[2] or 0)) if match else ("", 0)
