"""Extracts what kubebuilder markers in Go and C sources say of fields."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from constraints.conditions import Condition, Opaque, Scope
from constraints.keys import DEEPEST_KEY, Key
from constraints.table import Names
from constraints.tree import SourceTree
from constraints.validators import Constraint

_MARKER = re.compile(
    r"\s*//\s*\+(?:kubebuilder:)?(?:validation:)?(\w+)(?::=|[=:])?(.*)"
)
_TYPE = re.compile(r"\s*type\s+(\w+)\s+(\S+)")
_FIELD = re.compile(r'\s*(\w*)\s*([\w.*\[\]]+)\s+`.*json:"([^",]*)(,inline)?.*`')
_WORDS = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`|([^,]*))')
_TYPES = {"bool": "bool", "string": "str", "Duration": "str", "Quantity": "str"}
_CEL = (
    (r"!(?!=)", " not "),
    (r"&&", " and "),
    (r"\|\|", " or "),
    (r"\btrue\b", "True"),
    (r"\bfalse\b", "False"),
    (r"\bnull\b", "None"),
    (r"\bsize\(", "len("),
)


class _Field(NamedTuple):
    """A field of a struct, or a named type: `markers` stand before it."""

    name: str
    type: str
    markers: tuple[tuple[str, str], ...]
    source: str


def extract_markers(
    tree: SourceTree, names: Names, section: str
) -> tuple[list[Key], list[Constraint]]:
    """Return the keys below the struct of a section, and the rules on them."""
    types: dict[str, _Field] = {}
    structs: dict[str, list[_Field]] = {}
    for name, text in tree.marked:
        _read(name, text, types, structs)
    held = {_bare(field.type) for fields in structs.values() for field in fields}
    roots = [name for name in structs if name.lower() == section.lower()]
    keys: list[Key] = []
    rules: list[Constraint] = []
    for root in roots or [name for name in structs if name not in held]:
        for path, field in _fields(types, structs, root, (), (root,)):
            keys.append(_key(path, field))
            rules += _rules(path, field, names)
    return keys, rules


def _read(
    file: str,
    text: str,
    types: dict[str, _Field],
    structs: dict[str, list[_Field]],
) -> None:
    pending: list[tuple[str, str]] = []
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        source = f"{file}:{number}"
        if match := _MARKER.fullmatch(line):
            pending.append((match[1], match[2].strip()))
        elif match := _TYPE.match(line):
            inside = match[1]
            types.setdefault(inside, _Field(inside, match[2], tuple(pending), source))
            pending = []
            if match[2].startswith("struct"):
                structs.setdefault(inside, [])
        elif match := _FIELD.match(line):
            go_type = match[2].lstrip("*").replace("[]*", "[]")
            field = _Field(match[3], go_type, tuple(pending), source)
            structs.setdefault(inside, []).append(field)
            pending = []
        elif line.strip() and not line.lstrip().startswith("//"):
            pending = []


def _fields(
    types: dict[str, _Field],
    structs: dict[str, list[_Field]],
    struct: str,
    path: tuple[str, ...],
    within: Sequence[str],
) -> Iterator[tuple[tuple[str, ...], _Field]]:
    """Yield the fields of a struct and of those below it, with their paths."""
    for field in structs.get(struct, ()):
        is_list = field.type.startswith("[]")
        is_map = field.type.startswith("map[")
        bare = _bare(field.type)
        known = types.get(bare)
        markers = field.markers + (known.markers if known else ())
        kind = known.type if known and bare not in structs else field.type
        inner = (*path, field.name) if field.name else path
        if field.name:
            yield inner, field._replace(markers=markers, type=kind)
        if bare in structs and bare not in within and len(inner) < DEEPEST_KEY:
            if is_list:
                inner = (*inner[:-1], f"{inner[-1]}[]")
            below = (*inner, "*") if is_map else inner
            yield from _fields(types, structs, bare, below, (*within, bare))


def _bare(go_type: str) -> str:
    """Return the type of the items of a list or map, or the type itself."""
    return re.sub(r"^(\[\]|map\[\w+\])\*?", "", go_type)


def _key(path: Sequence[str], field: _Field) -> Key:
    of = dict(field.markers)
    signs = {"Minimum": ">=", "Maximum": "<="}
    bounds = [f"{sign} {of[name]}" for name, sign in signs.items() if name in of]
    kind = field.type.rpartition(".")[2]
    type_ = _TYPES.get(kind, "int" if kind.startswith(("int", "uint")) else "object")
    if field.type.startswith("[]"):
        type_ = "list"
    elif field.type.startswith("map["):
        type_ = "map"
    choices = tuple(part.strip('"') for part in re.split("[;]", of.get("Enum", "")))
    default = of.get("default", "").strip("=")
    try:
        value = ast.literal_eval(
            {"true": "True", "false": "False"}.get(default, default)
        )
    except (ValueError, SyntaxError):
        value = default
    return Key(
        ".".join(path),
        "enum" if "Enum" in of else type_,
        choices if "Enum" in of else (),
        ", ".join(bounds),
        pattern=of.get("Pattern", "").strip('`"'),
        default=value if default else None,
        has_default=bool(default),
        owner=path[0],
        source=field.source,
    )


def _rules(path: Sequence[str], field: _Field, names: Names) -> Iterator[Constraint]:
    for marker, text in field.markers:
        if marker != "XValidation":
            continue
        words = {m[1]: m[2] or m[3] or m[4] or "" for m in _WORDS.finditer(text)}
        condition = _condition(words.get("rule", ""), path, names)
        message = words.get("message", "")
        source = f"{field.source} (XValidation)"
        yield Constraint("refused", condition, message, source, "XValidation")


def _condition(rule: str, path: Sequence[str], names: Names) -> Condition:
    """Return where a CEL rule does not hold."""
    python = rule.replace('\\"', '"')
    for pattern, text in _CEL:
        python = re.sub(pattern, text, python)
    try:
        node = ast.parse(python.strip(), mode="eval").body
    except SyntaxError:
        return Opaque(rule, "a form of CEL that is not read")
    place: ast.expr = ast.Name("root")
    for step in path:
        place = ast.Attribute(place, step)
    scope = Scope(names, frozenset({"root"}), {"self": place}, {})
    return scope.condition(scope.inlined(node), holds=False)
