"""Extracts keys: fields of dataclasses and pydantic models, arguments of argparse."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from constraints.tree import SourceTree

DEEPEST_KEY = 6
LEAST_SHARE = 0.5  # of a class's fields, below which it is none of the table
_NO_VALUE = object()
_BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_SIMPLE = {"bool": "bool", "int": "int", "float": "float", "str": "str", "Path": "path"}
_LISTS = frozenset({"list", "List", "tuple", "Tuple", "Sequence", "set", "Set"})
_MAPS = frozenset({"dict", "Dict", "Mapping", "DictDefault"})
_WRAPPERS = frozenset({"Optional", "Union", "Annotated", "Final", "Required"})


class Key(NamedTuple):
    """A key as the source defines it, in the notation of the key tables."""

    path: str
    type: str = "any"
    choices: tuple[Any, ...] = ()
    range: str = ""
    pattern: str = ""
    default: Any = None
    has_default: bool = False
    is_deprecated: bool = False
    aliases: tuple[str, ...] = ()
    dest: str = ""
    owner: str = ""
    source: str = ""


class _Class(NamedTuple):
    """A class with fields; `below` are the classes that its fields hold, by path."""

    name: str
    bases: tuple[str, ...]
    fields: tuple[Key, ...]
    below: tuple[tuple[str, str], ...]


class Definitions(NamedTuple):
    """What a tree defines: its keys, and the values of its constants and Enums."""

    keys: tuple[Key, ...]
    constants: Mapping[str, Any]


def extract_keys(  # noqa: C901 - Enums come before the classes that use them
    tree: SourceTree,
) -> Definitions:
    """Return the keys of a tree's Python files, each path once for each class."""
    enums: dict[str, tuple[Any, ...]] = {}
    constants: dict[str, Any] = {}
    for file in tree.modules:
        for node in ast.walk(file.module):
            if isinstance(node, ast.ClassDef):
                _take_enum(node, enums, constants)
        for statement in file.module.body:
            _take_constant(statement, constants)
    classes: dict[str, _Class] = {}
    arguments: list[Key] = []
    for file in tree.modules:
        for node in ast.walk(file.module):
            if isinstance(node, ast.ClassDef) and node.name not in enums:
                if item := _class_of(node, file.name, enums):
                    classes.setdefault(node.name, item)
            elif isinstance(node, ast.Call) and (key := _argument(node, file.name)):
                arguments.append(key)
    held = {name for holder in classes.values() for _, name in holder.below}
    held |= {base for holder in classes.values() for base in holder.bases}
    keys = [
        key
        for name in classes
        if name not in held
        for key in _keys_of(classes, name, "", (name,))
    ]
    unclear = {name for name, value in constants.items() if value is _NO_VALUE}
    known = {name: constants[name] for name in constants.keys() - unclear}
    by_path: dict[tuple[str, str], Key] = {}
    for key in (*keys, *arguments):
        by_path.setdefault((key.path, key.source), key)
    return Definitions(tuple(by_path.values()), known)


def _take_enum(
    node: ast.ClassDef, enums: dict[str, tuple[Any, ...]], constants: dict[str, Any]
) -> None:
    if not any(_last_name(base).endswith("Enum") for base in node.bases):
        return
    values = []
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(
            target := statement.targets[0], ast.Name
        ):
            value = _literal(statement.value)
            value = value if isinstance(value, str) else target.id
            values.append(value)
            _put(constants, f"{node.name}.{target.id}", value)
    enums[node.name] = tuple(values)


def _take_constant(statement: ast.stmt, constants: dict[str, Any]) -> None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, value = statement.target, statement.value
    else:
        return
    if isinstance(target, ast.Name) and target.id.strip("_").isupper():
        if isinstance(value, ast.Call) and value.args:  # frozenset({...})
            value = value.args[0]
        _put(constants, target.id, _literal(value))


def _put(constants: dict[str, Any], name: str, value: object) -> None:
    """Take a constant; a name with two values in the tree has none."""
    is_other = name in constants and constants[name] != value
    constants[name] = _NO_VALUE if is_other else value


def _class_of(
    node: ast.ClassDef, file: str, enums: Mapping[str, tuple[Any, ...]]
) -> _Class | None:
    """Return a class that may hold keys: a dataclass, or a class with bases."""
    is_dataclass = any("dataclass" in ast.unparse(item) for item in node.decorator_list)
    if not is_dataclass and not node.bases:
        return None
    fields: list[Key] = []
    below: list[tuple[str, str]] = []
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign):
            continue
        target, annotation = statement.target, _annotation(statement.annotation)
        if not isinstance(target, ast.Name) or target.id[0] == "_":
            continue
        if "ClassVar" in ast.unparse(annotation):
            continue
        shape = _Shape(enums)
        type_ = shape.type_of(annotation)
        details = _details(annotation, statement.value)
        choices = details.pop("choices", None) or tuple(shape.choices)
        name = details.pop("alias", target.id)
        key = Key(
            name,
            type_,
            choices,
            dest=target.id,
            owner=node.name,
            source=f"{file}:{statement.lineno}",
            **details,
        )
        fields.append(key)
        below += [(f"{name}{suffix}", held) for suffix, held in shape.held]
    bases = tuple(_last_name(base) for base in node.bases)
    return _Class(node.name, bases, tuple(fields), tuple(below))


def _keys_of(
    classes: Mapping[str, _Class], name: str, prefix: str, within: Sequence[str]
) -> Iterator[Key]:
    """Yield the keys of a class, its bases and the classes of its fields."""
    item = classes.get(name)
    if item is None or len(within) > DEEPEST_KEY:
        return
    for key in item.fields:
        yield key._replace(path=prefix + key.path)
    for path, held in item.below:
        if held not in within:
            yield from _keys_of(classes, held, f"{prefix}{path}.", (*within, held))
    for base in item.bases:
        if base not in within:
            yield from _keys_of(classes, base, prefix, (*within, base))


class _Shape:
    """The type of an annotation as tables write it, with what it holds."""

    def __init__(self, enums: Mapping[str, tuple[Any, ...]]) -> None:
        self._enums = enums
        self.choices: list[Any] = []
        self.held: list[tuple[str, str]] = []

    def type_of(self, node: ast.expr, suffix: str = "") -> str:
        """Return the type, and keep choices and classes on the way."""
        kinds = dict.fromkeys(self._kinds(_annotation(node), suffix))
        ordered = [kind for kind in kinds if kind != "null"]
        return "|".join([*ordered, *(["null"] if "null" in kinds else [])]) or "any"

    def _kinds(self, node: ast.expr, suffix: str) -> Iterator[str]:
        match node:
            case ast.Constant(value=None):
                yield "null"
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                yield from self._kinds(_annotation(left), suffix)
                yield from self._kinds(_annotation(right), suffix)
            case ast.Subscript(value=value, slice=inner):
                yield from self._generic(_last_name(value), inner, suffix)
            case ast.Name() | ast.Attribute():
                name = _last_name(node)
                if name in self._enums:
                    self.choices += self._enums[name]
                    yield "enum"
                elif name in _SIMPLE:
                    yield _SIMPLE[name]
                elif name in _LISTS | _MAPS:
                    yield "list" if name in _LISTS else "map"
                elif name in {"Any", "object"}:
                    yield "any"
                else:
                    self.held.append((suffix, name))
                    yield "object"
            case _:
                yield "any"

    def _generic(self, name: str, inner: ast.expr, suffix: str) -> Iterator[str]:
        items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name == "Literal":
            values = [_literal(item) for item in items]
            self.choices += [value for value in values if value is not None]
            yield "enum"
            if None in values:
                yield "null"
        elif name in _LISTS:
            item = self.type_of(items[0], f"{suffix}[]")
            yield "list" if item in {"any", "object"} else f"list[{item}]"
        elif name in _MAPS:
            self.type_of(items[-1], f"{suffix}.*")
            yield "map"
        elif name in _WRAPPERS:
            for item_ in items[:1] if name == "Annotated" else items:
                yield from self._kinds(_annotation(item_), suffix)
            if name == "Optional":
                yield "null"
        else:
            yield "any"


def _details(  # noqa: C901 - a step for each argument of a field
    annotation: ast.expr, value: ast.expr | None
) -> dict[str, Any]:
    """Return default, range, pattern and alias of a field."""
    result: dict[str, Any] = {}
    calls = [
        node
        for node in (*ast.walk(annotation), *([value] if value is not None else []))
        if isinstance(node, ast.Call) and _last_name(node.func) in {"Field", "field"}
    ]
    if value is not None and value not in calls:
        result |= _default(value)
    for call in calls:
        given = {word.arg: word.value for word in call.keywords if word.arg}
        if call.args:
            result |= _default(call.args[0])
        if "default" in given:
            result |= _default(given["default"])
        factory = _last_name(given.get("default_factory", ast.Constant(0)))
        if factory in {"list", "dict"}:
            result |= {"default": [] if factory == "list" else {}, "has_default": True}
        bounds = [
            f"{sign} {_literal(given[name])}"
            for name, sign in _BOUNDS.items()
            if name in given and isinstance(_literal(given[name]), int | float)
        ]
        if bounds:
            result["range"] = ", ".join(bounds)
        for name in ("pattern", "alias"):
            if name in given and isinstance(_literal(given[name]), str):
                result[name] = _literal(given[name])
        if "deprecated" in given:
            result["is_deprecated"] = True
        metadata = _literal(given["metadata"]) if "metadata" in given else None
        if isinstance(metadata, dict) and metadata.get("choices"):
            result["choices"] = tuple(metadata["choices"])
    return result


def _default(node: ast.expr) -> dict[str, Any]:
    value = _literal(node)
    is_known = value is not _NO_VALUE and value is not ...
    return {"default": value, "has_default": True} if is_known else {}


def _argument(node: ast.Call, file: str) -> Key | None:
    """Return the key of a call of `add_argument`; positional arguments have none."""
    if _last_name(node.func) != "add_argument":
        return None
    flags = [flag for arg in node.args if isinstance(flag := _literal(arg), str)]
    flags.sort(key=lambda flag: not flag.startswith("--"))
    if not flags or not flags[0].startswith("-"):
        return None
    given = {word.arg: word.value for word in node.keywords if word.arg}
    action = _literal(given["action"]) if "action" in given else ""
    kind = _last_name(given.get("type", ast.Name("str")))
    type_ = _SIMPLE.get(kind, "any")
    default: dict[str, Any] = _default(given.get("default", ast.Constant(None)))
    if isinstance(action, str) and action.startswith("store_"):
        type_ = "flag"
        default = {"default": action == "store_false", "has_default": True}
        default |= _default(given["default"]) if "default" in given else {}
    elif "action" in given and _last_name(given["action"]) == "BooleanOptionalAction":
        type_ = "bool"
    elif _literal(given.get("nargs", ast.Constant(None))) not in {None, "?"}:
        type_ = f"list[{type_}]" if type_ != "any" else "list"
    choices = _literal(given["choices"]) if "choices" in given else ()
    has_choices = isinstance(choices, list | tuple | set)
    dest = _literal(given["dest"]) if "dest" in given else ""
    bare = flags[0].lstrip("-").replace("-", "_")
    return Key(
        flags[0],
        "enum" if has_choices and choices and type_ == "str" else type_,
        tuple(choices) if has_choices else (),
        aliases=tuple(flags[1:]),
        dest=dest if isinstance(dest, str) and dest else bare,
        owner=f"arguments of {file}",
        source=f"{file}:{node.lineno}",
        **default,
    )


def _annotation(node: ast.expr) -> ast.expr:
    """Return an annotation; where it is written as a text, what the text says."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return ast.Name("Any")
    return node


def _literal(node: ast.expr) -> Any:  # noqa: ANN401 - of any literal
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return _NO_VALUE


def _last_name(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return getattr(node, "attr", getattr(node, "id", ""))


def bounds(text: str) -> set[tuple[str, float]]:
    """Return the bounds of a range as tables write it: `>= 0, < 1`."""
    pairs = re.findall(r"([<>]=?)\s*([-+.\de]+)", text)
    return {(sign, float(number)) for sign, number in pairs}
