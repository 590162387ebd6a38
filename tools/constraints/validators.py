"""Extracts constraints: what validators refuse, warn of and override, and when."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from constraints.conditions import (
    ALWAYS,
    MOST_ITEMS,
    Condition,
    Group,
    Opaque,
    Scope,
    Test,
    as_text,
    joined,
    names_of,
    opaque_parts,
    opposite,
    parts_of,
)
from constraints.table import Names
from constraints.tree import SourceTree
from speccheck.validator.evidence.key_relations import PLAN

VALIDATORS = re.compile(r"validate_args|__post_init__|_?(validate|check|verify)|hint_")
_OWNERS = frozenset({"self", "args", "cfg", "config", "data", "values", "options"})
_WARNINGS = frozenset(
    {"warn", "warning", "warning_once", "warn_once", "warning_rank_0", "warn_rank_0"}
)
_STOPS = frozenset({"exit", "fatal"})
_DEPRECATIONS = re.compile(r"deprecat|(Deprecation|Future)Warning", re.IGNORECASE)
_NEGATIVE = frozenset({"is_not", "differs_from", "lacks", "not_word", "is_not_a"})
_UNSET = frozenset({"set", "stated", "given"})


class Constraint(NamedTuple):
    """What a validator does under a condition.

    Attributes:
        kind: refused, warned, overridden or deprecated.
        condition: under which it does so.
        loses: the key that gets another value.
        source: file:line (function).
    """

    kind: str
    condition: Condition
    message: str
    source: str
    function: str
    loses: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All keys that it speaks of."""
        return names_of(self.condition)

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self.source.partition(":")[0]

    @property
    def identity(self) -> tuple[str, str, str]:
        """What stays the same where only lines move."""
        return self.kind, self.function, as_text(self.condition)

    def split(self) -> tuple[Condition, Condition | None]:
        """Return `when` and `needs`: what is missing is needed beside the rest."""
        parts = parts_of(self.condition)
        missing = [part for part in parts if _is_negative(part)]
        rest = [part for part in parts if part not in missing]
        if not missing or not rest or self.kind == "overridden":
            return self.condition, None
        return joined("all", rest), opposite(joined("all", missing))


def _is_negative(part: Condition) -> bool:
    """Return whether a part says that something is missing."""
    match part:
        case Test(_, "is", [False]):
            return True
        case Test(_, test, operand):
            return test in _NEGATIVE or (test in _UNSET and operand is False)
        case Group("not", (Test(_, "multiple_of" | "equals"),)):
            return True
    return False


def extract_constraints(
    tree: SourceTree, names: Names, constants: Mapping[str, Any]
) -> list[Constraint]:
    """Return the constraints of a tree's validators, each once, in order."""
    result: dict[tuple[object, ...], Constraint] = {}
    for file in tree.modules:
        for node in ast.walk(file.module):
            if isinstance(node, ast.FunctionDef) and is_validator(node):
                for scope in _scopes(node, names, constants):
                    for constraint in _Walk(file.name, node, scope).constraints():
                        key = (*constraint.identity, constraint.source)
                        result.setdefault(key, constraint)
    return list(result.values())


def is_validator(node: ast.FunctionDef) -> bool:
    """Return whether a function looks like a validator, by its name or decorators."""
    return bool(VALIDATORS.match(node.name)) or any(
        "validator" in ast.unparse(item).partition("(")[0]
        for item in node.decorator_list
    )


def _scopes(
    node: ast.FunctionDef, names: Names, constants: Mapping[str, Any]
) -> Iterator[Scope]:
    """Yield what the names of a function stand for, for each field that it is of."""
    arguments = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
    own = [name for name in arguments if name != "cls"]
    owners = _OWNERS | {
        name for name in own if name.endswith(("args", "config", "cfg"))
    }
    calls = [item for item in node.decorator_list if isinstance(item, ast.Call)]
    is_raw = any("before" in ast.unparse(call) for call in calls)
    fields = [
        item.value
        for call in calls
        if ast.unparse(call.func).rpartition(".")[2] in {"field_validator", "validator"}
        for item in call.args
        if isinstance(item, ast.Constant) and item.value != "*"
    ]
    if not fields:
        yield Scope(names, frozenset(owners | {*own[:1]}), {}, constants, is_raw)
    for field in fields:
        value = ast.Attribute(ast.Name("self"), str(field))
        parameter = next((name for name in own if name != "self"), "")
        yield Scope(names, owners - {parameter}, {parameter: value}, constants)


class _Walk:
    """The statements of a function, each with the conditions that lead to it."""

    def __init__(self, file: str, node: ast.FunctionDef, scope: Scope) -> None:
        self._file = file
        self._node = node
        self._scope = scope

    def constraints(self) -> Iterator[Constraint]:
        return self._block(self._node.body, ())

    def _block(  # noqa: C901, PLR0912 - a case for each statement
        self, body: Sequence[ast.stmt], path: tuple[Condition, ...]
    ) -> Iterator[Constraint]:
        says = ""
        for statement in body:
            match statement:
                case ast.If(test=test, body=inner, orelse=orelse):
                    yield from self._branch(test, inner, orelse, path)
                    if inner and isinstance(inner[-1], ast.Return | ast.Continue):
                        path = (*path, self._condition(test, holds=False))
                case ast.Raise():
                    yield self._constraint("refused", path, statement, statement.exc)
                case ast.Assert(test=test, msg=message):
                    bad = (*path, self._condition(test, holds=False))
                    yield self._constraint("refused", bad, statement, message)
                case ast.For(target=target, iter=items, body=inner):
                    yield from self._loop(target, items, inner, path)
                case ast.With(body=inner):
                    yield from self._block(inner, path)
                case ast.Try():
                    yield from self._block([*statement.body, *statement.orelse], path)
                    for handler in statement.handlers:
                        kind = (
                            ast.unparse(handler.type) if handler.type else "exception"
                        )
                        fails = Opaque(f"{kind} is raised", "what Python raises")
                        yield from self._block(handler.body, (*path, fails))
                case ast.Expr(value=ast.Call() as call):
                    if kind := _kind_of_call(call):
                        says = kind
                        yield self._constraint(kind, path, statement, call)
                    elif ast.unparse(call.func) == "setattr" and not says:
                        yield from self._set(call, path, statement)
                case ast.Assign(targets=[target], value=value):
                    if isinstance(target, ast.Name):
                        if target.id in self._scope.owners:
                            continue
                        self._scope.local[target.id] = self._scope.inlined(value)
                    elif not says:
                        yield from self._assigned(target, value, path, statement)
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.While():
                    self._forget([statement])

    def _branch(
        self,
        test: ast.expr,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        path: tuple[Condition, ...],
    ) -> Iterator[Constraint]:
        for node in ast.walk(test):
            if isinstance(node, ast.NamedExpr):
                self._scope.local[node.target.id] = self._scope.inlined(node.value)
        yes, no = (self._condition(test, holds=holds) for holds in (True, False))
        before = dict(self._scope.local)
        yield from self._block(body, (*path, yes))
        after = dict(self._scope.local)
        self._scope.local.clear()
        self._scope.local.update(before)
        yield from self._block(orelse, (*path, no))
        for name in {*after, *self._scope.local}:
            values = [before.get(name), after.get(name), self._scope.local.get(name)]
            is_same = all(value is values[0] for value in values)
            self._scope.local[name] = values[0] if is_same else None

    def _loop(
        self,
        target: ast.expr,
        items: ast.expr,
        body: Sequence[ast.stmt],
        path: tuple[Condition, ...],
    ) -> Iterator[Constraint]:
        """Write a loop over literals out; of any other, the item is not known."""
        values = self._scope.value(self._scope.inlined(items))
        is_plain = isinstance(target, ast.Name) and isinstance(values, list | tuple)
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self._scope.local[node.id] = None
        if not is_plain:
            yield from self._block(body, path)
            self._forget(body)
            return
        for value in values[:MOST_ITEMS]:
            self._scope.local[target.id] = ast.Constant(value)  # type: ignore[attr-defined]
            yield from self._block(body, path)

    def _forget(self, body: Sequence[ast.stmt]) -> None:
        """Take what statements assign for not known: it is not clear what ran."""
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self._scope.local[node.id] = None

    def _set(
        self, call: ast.Call, path: tuple[Condition, ...], statement: ast.stmt
    ) -> Iterator[Constraint]:
        match call.args:
            case [owner, name, value]:
                target = ast.Call(ast.Name("getattr"), [owner, name], [])
                yield from self._assigned(target, value, path, statement)

    def _assigned(
        self,
        target: ast.expr,
        value: ast.expr,
        path: tuple[Condition, ...],
        statement: ast.stmt,
    ) -> Iterator[Constraint]:
        """Yield an override: under conditions, of a key that may state other things."""
        key_path = self._scope.path(self._scope.inlined(target))
        name = self._scope.names.resolve(key_path) if key_path else None
        is_always = not path or all(part == ALWAYS for part in path)
        if name is None or is_always or _fills_in(name.text, path):
            return
        wanted = self._scope.value(self._scope.inlined(value))
        other = self._scope.key(self._scope.inlined(value))
        if name.is_inverted and isinstance(wanted, bool):
            wanted = not wanted
        if name.text in self._scope.keys_in(self._scope.inlined(value)):
            return  # it is only converted
        tests = [Test(name.text, "given", operand=True)]
        if isinstance(wanted, str | int | float) and wanted:
            is_on = isinstance(wanted, bool)
            differs = Test(
                name.text, *(("is", [False]) if is_on else ("is_not", [wanted]))
            )
            tests = [Test(name.text, "stated", operand=True), differs]
        elif other:
            tests.append(Test(name.text, "differs_from", other))
        if name.is_flag and wanted is True:
            return  # nobody states a flag as false
        text = f"{name.text} becomes {ast.unparse(value)}"
        yield self._constraint("overridden", (*path, *tests), statement, None)._replace(
            message=text, loses=name.text
        )

    def _condition(self, test: ast.expr, *, holds: bool) -> Condition:
        return self._scope.condition(self._scope.inlined(test), holds=holds)

    def _constraint(
        self,
        kind: str,
        path: tuple[Condition, ...],
        statement: ast.stmt,
        message: ast.expr | None,
    ) -> Constraint:
        function = self._node.name
        source = f"{self._file}:{statement.lineno} ({function})"
        condition = joined("all", path)
        return Constraint(kind, condition, text_of(message), source, function)


def _fills_in(name: str, path: Sequence[Condition]) -> bool:
    """Return whether the conditions say that the key is unset: that is its default."""
    flat = [part for condition in path for part in parts_of(condition)]
    return any(
        isinstance(part, Test)
        and part.name == name
        and part.operand in (False, [False], [None])
        and part.test in _UNSET | {"is"}
        for part in flat
    )


def _kind_of_call(call: ast.Call) -> str:
    """Return what a call does: warned, deprecated, refused, or nothing."""
    name = ast.unparse(call.func).rpartition(".")[2]
    text = text_of(call)
    if name in _STOPS:
        return "refused"
    is_said = name.startswith("print") and text.lstrip("> *").lower().startswith("warn")
    if name not in _WARNINGS and not is_said:
        return ""
    words = [ast.unparse(word.value) for word in call.keywords]
    is_old = any(
        map(_DEPRECATIONS.search, [text, *words, *map(ast.unparse, call.args)])
    )
    return "deprecated" if is_old else "warned"


def text_of(node: ast.expr | None) -> str:  # noqa: PLR0911 - a case each
    """Return the text of a message; what is put into it stands in braces."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant() as value, attr="format")):
            return text_of(value)
        case ast.Call(args=[first, *_]):
            return text_of(first)
        case ast.Constant(value=str() as text):
            return " ".join(text.split())
        case ast.JoinedStr(values=values):
            return " ".join("".join(_piece(value) for value in values).split())
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{text_of(left)} {text_of(right)}".strip()
        case ast.BinOp(left=left, op=ast.Mod()):
            return text_of(left)
    return ""


def _piece(node: ast.expr) -> str:
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def why_not(constraint: Constraint, names: Names) -> str:
    """Return why a constraint is no relation; empty where it is ready."""
    opaque = opaque_parts(constraint.condition)
    if opaque:
        return f"{opaque[0].reason}: {opaque[0].text}"
    if not constraint.names:
        return "no condition over keys leads to it"
    unknown = [
        f"{name} (at several places)" if names.is_ambiguous(name) else name
        for name in constraint.names
        if not name.startswith(PLAN) and not names.has(name)
    ]
    return f"no key of the table: {', '.join(unknown)}" if unknown else ""
