"""Conditions over keys: of Python expressions, as plain text, and as relation rows."""

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from constraints.table import Names
from speccheck.validator.evidence.key_relations import (
    NAME_TESTS,
    NUMBER_TESTS,
    PRODUCT,
    names_in,
)

LARGEST_EXPRESSION = 150  # nodes, after locals are put in
MOST_ITEMS = 20  # of a sequence whose loop is written out


class Test(NamedTuple):
    """A test of the relation language; `name` may be a product of names."""

    name: str
    test: str
    operand: Any


class Group(NamedTuple):
    """Several conditions: `all`, `any`, or `not` of one part; no part: always true."""

    head: str
    parts: tuple["Condition", ...]


class Opaque(NamedTuple):
    """What the relation language has no test for, with the reason and its keys."""

    text: str
    reason: str
    names: tuple[str, ...] = ()


Condition: TypeAlias = Test | Group | Opaque
ALWAYS = Group("all", ())
NEVER = Group("any", ())

_PAIRS = {
    "is": "is_not",
    "contains": "lacks",
    "same_as": "differs_from",
    "above": "at_most",
    "below": "at_least",
    "word": "not_word",
    "is_a": "is_not_a",
}
_OPPOSITES = _PAIRS | {there: back for back, there in _PAIRS.items()}
_SWITCHES = frozenset({"set", "stated", "given"})
_KINDS = {
    "str": "text",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "list",
    "dict": "block",
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_ORDERS: dict[type[ast.cmpop], str] = {
    ast.Lt: "below",
    ast.Gt: "above",
    ast.LtE: "at_most",
    ast.GtE: "at_least",
}
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
}
_NO_VALUE = object()


class Scope(NamedTuple):
    """What the names of a function stand for.

    Attributes:
        owners: names whose attributes and items are keys.
        local: what each local name was assigned; None where that is not clear.
        constants: values of module constants and of members of Enum classes.
        is_raw: the function sees what the file states, before defaults are put in.
    """

    names: Names
    owners: frozenset[str]
    local: dict[str, ast.expr | None]
    constants: Mapping[str, Any]
    is_raw: bool = False

    def inlined(self, node: ast.expr) -> ast.expr:
        """Return an expression with what its local names were assigned."""
        result: ast.expr = _Inliner(self.local).visit(copy.deepcopy(node))
        is_small = sum(1 for _ in ast.walk(result)) <= LARGEST_EXPRESSION
        return result if is_small else node

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401 - of any literal
        """Return the value of a literal, a constant or a member of an Enum."""
        if isinstance(node, ast.Attribute) and node.attr == "value":
            node = node.value
        if isinstance(node, ast.Name | ast.Attribute):
            return self.constants.get(_last_two(node), _NO_VALUE)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            items = [self.value(item) for item in node.elts]
            return _NO_VALUE if _NO_VALUE in items else items
        if isinstance(node, ast.Call) and _called(node) in {
            "set",
            "frozenset",
            "tuple",
        }:
            return self.value(node.args[0]) if node.args else _NO_VALUE
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            return _NO_VALUE

    def path(self, node: ast.expr) -> tuple[str, ...] | None:  # noqa: PLR0911 - by form
        """Return the key that an expression reads; () for the configuration itself."""
        step = ""
        match node:
            case ast.Name(id=name):
                return () if name in self.owners else None
            case ast.NamedExpr(value=value):
                return self.path(value)
            case ast.Attribute(value=value, attr=step):
                pass
            case ast.Subscript(value=value, slice=ast.Constant(value=str(step))):
                pass
            case ast.BoolOp(op=ast.Or(), values=[value, last]) if _is_empty(last):
                return self.path(value)
            case ast.Call(
                func=ast.Attribute(value=value, attr="get"),
                args=[ast.Constant(value=str(step)), *_],
            ):
                pass
            case ast.Call(
                func=ast.Name(id="getattr"),
                args=[value, ast.Constant(value=str(step)), *_],
            ):
                pass
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                return self.path(value)
            case _:
                return None
        above = self.path(value)
        if above is None:
            return None
        return above if step == "value" and above else (*above, step)

    def key(self, node: ast.expr) -> str | None:
        """Return the tabulated name of the key that an expression reads."""
        path = self.path(node)
        return self.names.resolve(path).text if path else None

    def keys_in(self, node: ast.AST) -> tuple[str, ...]:
        """Return all keys below a node, each once."""
        result: dict[str, None] = {}
        for child in ast.walk(node):
            if isinstance(child, ast.expr) and (name := self.key(child)):
                result[name] = None
        return tuple(
            name
            for name in result
            if not any(other.startswith(f"{name}.") for other in result)
        )

    def condition(  # noqa: C901 - a case for each form
        self, node: ast.expr, *, holds: bool = True
    ) -> Condition:
        """Return the condition that an expression states, or its opposite."""
        match node:
            case ast.BoolOp(op=op, values=values) if self.path(node) is None:
                head = "all" if isinstance(op, ast.And) is holds else "any"
                return joined(head, [self.condition(v, holds=holds) for v in values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.condition(operand, holds=not holds)
            case ast.NamedExpr(value=value):
                return self.condition(value, holds=holds)
            case ast.Call(func=ast.Name(id="bool"), args=[value]):
                return self.condition(value, holds=holds)
            case ast.Constant(value=value):
                return ALWAYS if bool(value) is holds else NEVER
            case ast.Compare(left=left, ops=ops, comparators=others):
                lefts = [left, *others]
                pairs = [
                    self._compared(node, *triple)
                    for triple in zip(lefts, ops, others, strict=False)
                ]
                whole = joined("all", pairs)
            case ast.BinOp(op=ast.Mod()):
                zero = ast.Constant(0)
                whole = opposite(self._compared(node, node, ast.Eq(), zero))
            case ast.Call():
                whole = self._called(node)
            case ast.ListComp(generators=[ast.comprehension(ifs=[test])]):
                loop = ast.ListComp(
                    test,
                    [
                        ast.copy_location(
                            ast.comprehension(
                                node.generators[0].target,
                                node.generators[0].iter,
                                [],
                                0,
                            ),
                            test,
                        )
                    ],
                )
                parts = [*self._items(loop)]
                whole = self._opaque(node)
                if parts:
                    whole = joined("any", [self.condition(part) for part in parts])
            case _:
                whole = self._switch(node, is_on=True)
        return whole if holds else opposite(whole)

    def _switch(self, node: ast.expr, *, is_on: bool) -> Condition:
        path = self.path(node)
        if not path:
            return self._opaque(node)
        name = self.names.resolve(path)
        is_on = is_on is not name.is_inverted
        if self.is_raw:
            return Test(name.text, "given", is_on)
        return Test(name.text, "is", [is_on])

    def _called(  # noqa: C901, PLR0911 - a case for each function
        self, node: ast.Call
    ) -> Condition:
        match node:
            case ast.Call(func=ast.Name(id="any" | "all" as head), args=[items]):
                parts = [*self._items(items)]
                if parts:
                    return joined(head, [self.condition(part) for part in parts])
            case ast.Call(func=ast.Name(id="isinstance"), args=[value, kinds]):
                if self.path(value) == ():
                    return ALWAYS
                name = self.key(value)
                listed = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                words = [_KINDS.get(getattr(kind, "id", "")) for kind in listed]
                if name and None not in words:
                    return joined("any", [Test(name, "is_a", word) for word in words])
            case ast.Call(
                func=ast.Attribute(value=value, attr="startswith" | "endswith" as attr),
                args=[texts],
            ):
                name, wanted = self.key(value), self.value(texts)
                if name and wanted is not _NO_VALUE:
                    wanted = wanted if isinstance(wanted, list | tuple) else [wanted]
                    test = "begins" if attr == "startswith" else "ends"
                    return Test(name, test, [*wanted])
            case ast.Call(func=ast.Name(id="hasattr"), args=[value, _]):
                if self.path(value) == ():
                    return ALWAYS
            case ast.Call(func=ast.Name(id="has"), args=[value]):  # of a CEL rule
                if name := self.key(value):
                    return Test(name, "set", operand=True)
        return self._switch(node, is_on=True)

    def _items(self, node: ast.expr) -> Iterator[ast.expr]:
        """Yield the items of a sequence, or of a comprehension over literals."""
        if isinstance(node, ast.List | ast.Tuple):
            yield from node.elts
        elif isinstance(node, ast.GeneratorExp | ast.ListComp):
            loop = node.generators[0]
            values = self.value(loop.iter)
            is_plain = isinstance(loop.target, ast.Name) and len(node.generators) == 1
            if not is_plain or loop.ifs or not isinstance(values, list | tuple):
                return
            for value in values[:MOST_ITEMS]:
                name = loop.target.id  # type: ignore[attr-defined]
                inner = _Inliner({name: ast.Constant(value)})
                yield inner.visit(copy.deepcopy(node.elt))

    def _compared(  # noqa: C901, PLR0911 - a case for each form
        self, whole: ast.expr, left: ast.expr, op: ast.cmpop, right: ast.expr
    ) -> Condition:
        kind = type(op)
        if kind in _NEGATED:
            whole = ast.Compare(left, [_NEGATED[kind]()], [right])
            return opposite(self._compared(whole, left, whole.ops[0], right))
        if kind is ast.In:
            return self._among(whole, left, right)
        is_swapped = self.value(left) is not _NO_VALUE or _is_modulo(right)
        if is_swapped and kind in _MIRRORED:
            left, right, kind = right, left, _MIRRORED[kind]
        wanted = self.value(right)
        if _is_modulo(left) and kind is ast.Eq and wanted == 0:
            assert isinstance(left, ast.BinOp)  # noqa: S101 - for the type checker
            names, number = self._product(left.left), self._number(left.right)
            if names and number is not None:
                return Test(names, "multiple_of", number)
        if isinstance(left, ast.Call) and _called(left) == "len":
            return self._measured(whole, left.args[0], kind, wanted)
        is_lowered = isinstance(left, ast.Call) and _called(left) == "lower"
        if is_lowered and isinstance(wanted, str):
            name = self.key(left.func.value)  # type: ignore[attr-defined]
            return Test(name, "word", [wanted]) if name else self._opaque(whole)
        if kind in _ORDERS:
            names, number = self._product(left), self._number(right)
            if names and number is not None:
                return Test(names, _ORDERS[kind], number)
        if kind in {ast.Eq, ast.Is}:
            return self._equal(whole, left, kind, right)
        return self._opaque(whole)

    def _equal(  # noqa: PLR0911 - a case for each form
        self, whole: ast.expr, left: ast.expr, kind: type[ast.cmpop], right: ast.expr
    ) -> Condition:
        wanted = self.value(right)
        name = self.key(left)
        if isinstance(wanted, bool) and name:
            if wanted or kind is ast.Eq:
                return self._switch(left, is_on=wanted)
            is_set = Test(name, "stated" if self.is_raw else "set", operand=True)
            return joined("all", [is_set, Test(name, "is", [False])])
        if name and wanted is None:
            return Test(name, "stated" if self.is_raw else "set", operand=False)
        if name and isinstance(wanted, str | int | float):
            return Test(name, "is", [wanted])
        other = self.key(right)
        if name and other and name != other:
            return Test(name, "same_as", other)
        names, number = self._product(left), self._number(right)
        if names and number is not None:
            return Test(names, "equals", number)
        return self._opaque(whole)

    def _among(self, whole: ast.expr, left: ast.expr, right: ast.expr) -> Condition:
        name, values = self.key(left), self.value(right)
        if name and isinstance(values, dict | list | tuple | set | frozenset):
            return Test(name, "is", sorted(values, key=lambda value: value is None))
        item = self.value(left)
        match right:
            case ast.Call(func=ast.Attribute(value=text, attr="lower")):
                if isinstance(item, str) and (name := self.key(text)):
                    return Test(name, "matches", f"(?i){re.escape(item)}")
        path = self.path(right)
        if isinstance(item, str) and path == ():
            return Test(self.names.resolve((item,)).text, "stated", operand=True)
        if isinstance(item, str | int) and path:
            return Test(self.names.resolve(path).text, "contains", [item])
        return self._opaque(whole)

    def _measured(
        self, whole: ast.expr, node: ast.expr, kind: type[ast.cmpop], count: object
    ) -> Condition:
        name = self.key(node)
        if not name or type(count) is not int:
            return self._opaque(whole)
        above = Test(name, "length_above", count - (kind is ast.GtE))
        below = Test(name, "length_below", count + (kind is ast.LtE))
        if kind in {ast.Gt, ast.GtE}:
            return above
        if kind in {ast.Lt, ast.LtE}:
            return below
        return joined("all", [opposite(above), opposite(below)])

    def _product(self, node: ast.expr) -> str | None:
        """Return a key, or keys and whole numbers that are multiplied, by name."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self._product(node.left), self._product(node.right)
            return PRODUCT.join([left, right]) if left and right else None
        value = self.value(node)
        if type(value) is int and value > 0:
            return str(value)
        path = self.path(node)
        name = self.names.resolve(path) if path else None
        return name.text if name and not name.is_inverted else None

    def _number(self, node: ast.expr) -> int | float | str | None:
        value = self.value(node)
        if type(value) in {int, float}:
            return value  # type: ignore[no-any-return]
        return self._product(node)

    def _opaque(self, node: ast.expr) -> Opaque:
        names = self.keys_in(node)
        loose = sorted(
            child.id
            for child in ast.walk(node)
            if isinstance(child, ast.Name) and child.id in self.local
        )
        reason = next((text for kind, text in _REASONS if _has(node, kind)), "")
        if loose and not names:
            reason = f"{loose[0]} is worked out before"
        return Opaque(
            ast.unparse(node), reason or "no test of the language fits", names
        )


_REASONS: Sequence[tuple[type[ast.AST] | tuple[type[ast.AST], ...], str]] = (
    ((ast.Add, ast.Sub, ast.Div, ast.FloorDiv, ast.Pow), "arithmetic"),
    ((ast.GeneratorExp, ast.ListComp, ast.SetComp), "goes through items"),
    (ast.Call, "calls a function"),
    (ast.Subscript, "looks at an item"),
)


class _Inliner(ast.NodeTransformer):
    """Puts what local names were assigned in their place."""

    def __init__(self, local: Mapping[str, ast.expr | None]) -> None:
        self._local = local

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._local.get(node.id)
        return copy.deepcopy(value) if value is not None else node


def joined(head: str, parts: Sequence[Condition]) -> Condition:
    """Return conditions joined, flat, each once; a single part stands by itself."""
    neutral, decisive = (ALWAYS, NEVER) if head == "all" else (NEVER, ALWAYS)
    flat: list[Condition] = []
    for part in parts:
        inner = part.parts if isinstance(part, Group) and part.head == head else (part,)
        flat += [item for item in inner if item not in flat and item != neutral]
    tests = [part for part in flat if isinstance(part, Test)]
    if decisive in flat or any(opposite(test) in tests for test in tests):
        return decisive
    return flat[0] if len(flat) == 1 else Group(head, tuple(flat))


def opposite(condition: Condition) -> Condition:  # noqa: PLR0911 - a case each
    """Return what holds where a condition does not."""
    match condition:
        case Test(name, "is", [bool() as value]):
            return Test(name, "is", [not value])
        case Test(name, test, operand) if test in _SWITCHES:
            return Test(name, test, not operand)
        case Test(name, test, operand) if test in _OPPOSITES:
            return Test(name, _OPPOSITES[test], operand)
        case Test(name, "length_above", int() as most):
            return Test(name, "length_below", most + 1)
        case Test(name, "length_below", int() as least):
            return Test(name, "length_above", least - 1)
        case Group("not", (part,)):
            return part
        case Group("all" | "any" as head, parts):
            other = "any" if head == "all" else "all"
            return joined(other, [opposite(part) for part in parts])
        case Opaque(text, reason, names):
            is_opposite = text.startswith("not (") and text.endswith(")")
            text = text[5:-1] if is_opposite else f"not ({text})"
            return Opaque(text, reason, names)
    return Group("not", (condition,))


def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions that must all hold."""
    is_all = isinstance(condition, Group) and condition.head == "all"
    return condition.parts if is_all else (condition,)  # type: ignore[union-attr]


def names_of(condition: Condition) -> tuple[str, ...]:
    """Return all names that a condition speaks of, each once."""
    match condition:
        case Group(_, parts):
            names = [name for part in parts for name in names_of(part)]
        case Opaque(_, _, names_):
            names = [*names_]
        case Test(name, test, operand):
            names = names_in(name)
            if isinstance(operand, str) and test in NUMBER_TESTS | NAME_TESTS:
                names += names_in(operand)
    return tuple(dict.fromkeys(names))


def opaque_parts(condition: Condition) -> list[Opaque]:
    """Return the parts that no test expresses."""
    if isinstance(condition, Group):
        return [item for part in condition.parts for item in opaque_parts(part)]
    return [condition] if isinstance(condition, Opaque) else []


def written(condition: Condition) -> dict[str, Any]:
    """Return a condition as a relation row writes it; it has no opaque part."""
    parts = parts_of(condition)
    entries: list[tuple[str, Any]] = []
    for part in parts:
        match part:
            case Group("not", (inner,)):
                entries.append(("not", written(inner)))
            case Group(head, inner_parts):
                entries.append((head, [written(inner) for inner in inner_parts]))
            case Test(name, test, operand):
                entries.append((name, {test: operand}))
    result: dict[str, Any] = {}
    for name, entry in entries:
        have = result.get(name)
        if have is None:
            result[name] = entry
        elif name not in {"any", "not", "all"} and not have.keys() & entry.keys():
            result[name] = have | entry
        else:
            return {"all": [written(part) for part in parts]}
    return {name: _short(entry) for name, entry in result.items()}


def _short(entry: Any) -> Any:  # noqa: ANN401 - a value of YAML
    """Return `{is: [x]}` as x, and a list of a single item as the item."""
    if not isinstance(entry, dict) or entry.keys() & {"any", "all", "not"}:
        return entry
    if [*entry] != ["is"]:
        return entry
    values = entry["is"]
    return values[0] if len(values) == 1 else values


def as_text(condition: Condition) -> str:
    """Return a condition in plain notation."""
    match condition:
        case Test(name, "is", [bool() as is_on]):
            return name if is_on else f"not {name}"
        case Test(name, test, bool() as is_on):
            return f"{name} is {'' if is_on else 'not '}{test}"
        case Test(name, test, operand):
            shown = ", ".join(map(str, operand)) if type(operand) is list else operand
            return f"{name} {test.replace('_', ' ')} {shown}"
        case Opaque(text, _, _):
            return f"`{text}`"
        case Group("not", (part,)):
            return f"not ({as_text(part)})"
        case Group(head, parts):
            texts = [as_text(part) for part in parts]
            for number, part in enumerate(parts):
                if isinstance(part, Group) and part.head != "not":
                    texts[number] = f"({texts[number]})"
            return (" and " if head == "all" else " or ").join(texts) or "always"


def _last_two(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return (
            f"{getattr(node.value, 'id', getattr(node.value, 'attr', ''))}.{node.attr}"
        )
    return getattr(node, "id", "")


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _is_modulo(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def _is_empty(node: ast.expr) -> bool:
    return ast.unparse(node) in {"{}", "[]", "''", "None", "False", "0"}


def _has(node: ast.AST, kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> bool:
    return any(isinstance(child, kind) for child in ast.walk(node))
