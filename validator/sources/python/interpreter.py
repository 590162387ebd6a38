"""Follows a Python file as far as its text says what it does; nothing is run.

Statements are taken in their order. A branch whose condition is not known is followed,
and what it changes is unknown behind it. A function of the file is followed where it is
called, and by itself where nobody calls it: its parameters are then their defaults,
which hold as long as the caller gives no others.
"""

import ast
from collections.abc import Callable, Iterable, Sequence

from speccheck.validator.catalogue.python_calls import PythonCall, python_calls
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.python.command_line import (
    ProgramArguments,
    kind_of,
    value_of,
)
from speccheck.validator.sources.python.library import (
    BUILTINS,
    add_option,
    called,
    entry_at,
    fallback,
    item_of,
    set_of,
    spread,
    text_method,
    view_of,
)
from speccheck.validator.sources.python.modules import Module, Modules
from speccheck.validator.sources.python.operators import (
    LONGEST_LIST,
    LONGEST_TEXT,
    binary,
    compared,
    condition_of,
    first_unknown,
    negated,
)
from speccheck.validator.sources.python.values import (
    Block,
    BlockEntry,
    Evaluated,
    Imported,
    Known,
    LocalClass,
    LocalFunction,
    Method,
    Names,
    OptionParser,
    ParserOption,
    Position,
    Unknown,
    changed,
    is_same,
    items_of,
    position,
    truth_of,
)

_MOST_STEPS = 300_000  # expressions and statements that are followed
_DEEPEST_CALLS = 8
_MOST_ITEMS = 10_000
_Definition = ast.FunctionDef | ast.AsyncFunctionDef
_PARSING = frozenset(
    {
        "parse_args",
        "parse_known_args",
        "parse_args_into_dataclasses",
        "parse_args_and_config",
        "parse",
    }
)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_FORM_OF_OUTPUT = -1
_LONGEST_SHOWN = 60
_MOST_STEPS_OF_A_NAME = 6
_INITIALISERS = frozenset({"__init__", "__new__", "__post_init__"})


class TooMuch(Exception):  # noqa: N818 - a fact about the file
    """The file does more than is followed."""


class Recorded(Record):
    """A configuration: a block, and the row of the catalogue that says whose keys.

    Attributes:
        call: the row.
        block: what it holds.
        at: where the file itself makes it.
        function: that gives it; empty for a call.

    """

    call: PythonCall
    block: Block
    at: Position
    function: str = ""


class Interpreter:
    """Follows one file and records the configurations that it makes.

    Attributes:
        module: the names of the file.
        modules: the other files of its repository that it takes names from.
        recorded: by where the call or the function stands.

    """

    def __init__(
        self,
        path: str = "",
        modules: Modules | None = None,
        command_line: ProgramArguments | None = None,
    ) -> None:
        """Start before the first line.

        Args:
            path: of the file.
            modules: those that it imports; none are followed without.
            command_line: what the file is started with, where that is known.

        """
        self._command_line = command_line
        self.module = Names(path=path)
        self.modules = modules or Modules(path, None)
        self._names_of: dict[str, Names] = {}  # of other modules, by path
        self.recorded: dict[Position, list[Recorded]] = {}
        self._catalogue = python_calls()
        self._packages = self._catalogue.packages()
        self._steps = 0
        self._branches: tuple[int, ...] = ()
        self._depth = 0
        self._returned: list[list[Evaluated]] = []
        self._functions: list[LocalFunction] = []
        self._followed: set[_Definition] = set()
        self._active: list[_Definition] = []
        self._handed: set[_Definition] = set()  # to a function that calls them
        self._line = 0
        self._statements: dict[type[ast.stmt], Callable[..., bool | None]] = {
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.FunctionDef: self._define,
            ast.AsyncFunctionDef: self._define,
            ast.ClassDef: self._class,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign_annotated,
            ast.AugAssign: self._assign_changed,
            ast.If: self._if,
            ast.For: self._loop,
            ast.AsyncFor: self._loop,
            ast.While: self._loop,
            ast.Try: self._try,
            ast.TryStar: self._try,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Match: self._match,
            ast.Return: self._return,
            ast.Delete: self._delete,
        }
        self._expressions: dict[type[ast.expr], Callable[..., Evaluated]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Dict: self._dict,
            ast.List: self._list,
            ast.Tuple: self._list,
            ast.Set: self._set_of,
            ast.JoinedStr: self._joined_text,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.BoolOp: self._boolean,
            ast.IfExp: self._choice,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.DictComp: self._comprehension,
            ast.NamedExpr: self._named,
            ast.Await: self._awaited,
            ast.Starred: self._awaited,
            ast.Call: self._call,
        }

    def run(self, tree: ast.Module) -> None:
        """Follow the file, then each function that nothing in it has called."""
        self.module.rebound = _rebound(tree)
        self._block(tree.body, self.module)
        position = 0
        while position < len(self._functions):
            function = self._functions[position]
            position += 1
            returns = self._returned_call(function)
            if function.node in self._followed and returns is None:
                continue
            if returns is not None:  # launchers call a recipe as it stands
                self._handed.add(function.node)
            value = self._call_function(function, [], {}, is_outer=True)
            if returns is not None and isinstance(value, Block):
                self._record(returns, value, function.node)

    def _returned_call(self, function: LocalFunction) -> PythonCall | None:
        """Return which configuration a function gives by its annotation."""
        annotation = function.node.returns
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except (SyntaxError, ValueError):
                return None
        if not isinstance(annotation, ast.Name | ast.Attribute):
            return None
        if function.node.name.startswith("_"):
            return None
        call = self._tabulated(self._expression(annotation, function.scope))
        return call if call is not None and call.recorded == "returned" else None

    def _step(self, node: ast.AST) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooMuch
        self._line = getattr(node, "lineno", self._line)

    def _at(self, node: ast.AST) -> str:
        """Return the line of a node in words."""
        return self.modules.shown(getattr(node, "lineno", self._line))

    def _shown(self, node: ast.expr) -> str:
        """Return an expression as it may be written, cut where it is long."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            return f"{self._shown(node.value)}.{node.attr}"[-_LONGEST_SHOWN:]
        if isinstance(node, ast.Call):
            return f"{self._shown(node.func)}(...)"
        return f"an expression of {self._at(node)}"

    # Other modules

    def _names(self, module: Module) -> Names:
        """Return the names of another module, followed where they are first wanted."""
        names = self._names_of.get(module.path)
        if names is None:
            names = Names(path=module.path, rebound=_rebound(module.tree))
            self._names_of[module.path] = names
            outer, self._branches = self._branches, ()
            line = self._line
            self._depth += 1
            if self._depth <= _DEEPEST_CALLS:
                self._block(module.tree.body, names)
            self._depth -= 1
            self._branches, self._line = outer, line
        return names

    def _resolved(self, imported: Imported) -> Evaluated:
        """Return what an imported name stands for, where its module is at hand.

        Classes of the frameworks stay what they are: the catalogue and the readers of
        formats know them.
        """
        value: Evaluated = imported
        for _ in range(_MOST_STEPS_OF_A_NAME):
            if not isinstance(value, Imported) or not value.path:
                return value
            if self._is_of_framework(value.name):
                return value
            next_value = self._of_module(value)
            if next_value is None:
                return value
            value = next_value
        return value

    def _is_of_framework(self, name: str) -> bool:
        """Tell whether a name is tabulated, or by its form a class of a framework."""
        if self._catalogue.find(name) is not None:
            return True
        parts = name.split(".")
        has_class = any(part[:1].isupper() and not part.isupper() for part in parts)
        return has_class and parts[0] in self._packages

    def _of_module(self, imported: Imported) -> Evaluated | None:
        """Return what a name of another module stands for there; None if not known."""
        dots = len(imported.name) - len(imported.name.lstrip("."))
        parts = imported.name[dots:].split(".")
        for count in range(len(parts) - 1, -1 if dots else 0, -1):
            name = "." * dots + ".".join(parts[:count])
            module = self.modules.find(name, imported.path)
            if module is None:
                continue
            value = self._names(module).names.get(parts[count])
            for attribute in parts[count + 1 :]:
                if isinstance(value, LocalClass):
                    value = self._field_of(value, attribute)
                elif isinstance(value, Imported):
                    value = Imported(f"{value.name}.{attribute}", value.path)
                else:
                    return None
            folders = parts[:1] if not dots else module.path.split("/")
            if isinstance(value, LocalClass) and not self._packages.isdisjoint(folders):
                return None
            return value
        return None

    # Statements

    def _block(self, statements: Iterable[ast.stmt], scope: Names) -> bool:
        """Follow statements, up to one behind which no other is reached.

        Returns:
            Whether there is such a one.

        """
        for statement in statements:
            self._step(statement)
            follow = self._statements.get(type(statement))
            if follow is None:
                self._visit(statement, scope)
                is_left = isinstance(statement, _LEAVES)
            else:
                is_left = bool(follow(statement, scope))
            if is_left:
                return True
        return False

    def _visit(self, node: ast.AST, scope: Names) -> None:
        """Follow the expressions and blocks of a statement of no meaning of its own."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, scope)
            elif isinstance(child, ast.stmt):
                self._block((child,), scope)
            else:
                self._visit(child, scope)

    def _import(self, node: ast.Import, scope: Names) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            scope.names[alias.asname or name] = Imported(name, scope.path)

    def _import_from(self, node: ast.ImportFrom, scope: Names) -> None:
        module = "." * node.level + (node.module or "")
        prefix = module if module.endswith(".") else f"{module}."
        for alias in node.names:
            if alias.name != "*":
                name = f"{prefix}{alias.name}"
                scope.names[alias.asname or alias.name] = Imported(name, scope.path)
                continue
            other = self.modules.find(module, scope.path)
            if other is not None:
                scope.names.update(self._names(other).names)
            for call in self._catalogue.calls:
                if any(f"{module}.".startswith(f"{name}.") for name in call.modules):
                    for name in call.names:
                        scope.names.setdefault(name, Imported(f"{module}.{name}"))

    def _define(self, node: _Definition, scope: Names) -> None:
        for decorator in node.decorator_list:
            self._expression(decorator, scope)
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(made, ast.Attribute) and made.attr == "command":
                self._handed.add(node)
        function = LocalFunction(node, scope)
        scope.names[node.name] = function
        if self.modules.is_other(node.lineno):
            return
        if not any(item.node is node for item in self._functions[-200:]):
            self._functions.append(function)

    def _class(self, node: ast.ClassDef, scope: Names) -> None:
        bases = tuple(self._expression(base, scope) for base in node.bases)
        scope.names[node.name] = LocalClass(node, bases, scope)
        inner = Names(scope)
        self._block(node.body, inner)

    def _assign(self, node: ast.Assign, scope: Names) -> None:
        value = self._expression(node.value, scope)
        for target in node.targets:
            self._bind(target, value, scope)

    def _assign_annotated(self, node: ast.AnnAssign, scope: Names) -> None:
        if node.value is not None:
            self._bind(node.target, self._expression(node.value, scope), scope)

    def _assign_changed(self, node: ast.AugAssign, scope: Names) -> None:
        added = self._expression(node.value, scope)
        target = node.target
        before = self._expression(target, scope)
        self._bind(target, binary(node.op, before, added), scope)

    def _bind(self, target: ast.expr, value: Evaluated, scope: Names) -> None:
        if isinstance(target, ast.Name):
            if target.id in scope.rebound:
                value = Unknown(f"functions set {target.id} anew")
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, Unknown("a part of a list"), scope)
        elif isinstance(target, ast.Attribute):
            owner = self._owner(target.value, scope)
            if isinstance(owner, LocalClass):
                owner.changed.add(target.attr)
            if isinstance(owner, Block):
                self._set(owner, target.attr, value, _end_of(target), target)
        elif isinstance(target, ast.Subscript):
            self._bind_item(target, value, scope)

    def _bind_item(self, target: ast.Subscript, value: Evaluated, scope: Names) -> None:
        owner = self._owner(target.value, scope)
        key = self._expression(target.slice, scope)
        if not isinstance(owner, Block):
            return
        if isinstance(key, Known) and isinstance(key.value, str | int):
            self._set(owner, key.value, value, position(target.slice), target)
        else:
            owner.open_reason = f"{self._at(target)} sets a key not known here"

    def _owner(self, node: ast.expr, scope: Names) -> Evaluated:
        """Return an object that a line sets something of."""
        owner = self._expression(node, scope)
        block = owner.of if isinstance(owner, Method) else None
        if isinstance(block, Block) and isinstance(node, ast.Attribute):
            return self._inner(block, node)
        return owner

    def _unpack(
        self, targets: Sequence[ast.expr], value: Evaluated, scope: Names
    ) -> None:
        for index, target in enumerate(targets):
            part: Evaluated = Unknown("a part of what is not known")
            if isinstance(value, Block) and value.is_list:
                entry = value.entries.get(index)
                part = entry.value if entry is not None else part
            self._bind(target, part, scope)

    def _set(
        self,
        owner: Block,
        key: str | int,
        value: Evaluated,
        key_at: Position | None,
        node: ast.AST,
    ) -> None:
        """Set an entry of a block, for certain unless a branch does it."""
        before = owner.entries.get(key)
        if self._branches != owner.branches[: len(self._branches)]:
            is_kept = before is not None and is_same(before.value, value)
            if not is_kept:
                value = Unknown(f"{self._at(node)} sets it in a branch")
        owner.entries[key] = BlockEntry(value, key_at, position(node))

    def _if(self, node: ast.If, scope: Names) -> bool:
        condition = self._expression(node.test, scope)
        if _is_main(node.test):
            is_program = scope.path == self.module.path
            return self._block(node.body if is_program else node.orelse, scope)
        if isinstance(condition, Known) and not condition.only_if:
            return self._block(node.body if condition.value else node.orelse, scope)
        return self._fork((node.body, node.orelse), scope)

    def _fork(self, bodies: Sequence[Sequence[ast.stmt]], scope: Names) -> bool:
        """Follow branches of which one is taken, and join what they leave behind.

        Returns:
            Whether none of them goes on to the line behind.

        """
        before = dict(scope.names)
        outer = self._branches
        ends: list[dict[str, Evaluated]] = []
        for body in bodies:
            scope.names = dict(before)
            self._branches = (*outer, self._steps)
            if not self._block(body, scope):
                ends.append(scope.names)
        self._branches = outer
        scope.names = dict(before)
        if ends:
            self._join(before, ends, scope)
        return not ends

    def _join(
        self,
        before: dict[str, Evaluated],
        ends: Sequence[dict[str, Evaluated]],
        scope: Names,
    ) -> None:
        names = {name for end in ends for name in changed(before, end)}
        for name in sorted(names):
            values = [end.get(name) for end in ends]
            given = [value for value in values if value is not None]
            firm = next(
                (
                    v
                    for v in given
                    if isinstance(v, Imported | LocalFunction | LocalClass)
                ),
                None,
            )
            if firm is not None:
                scope.names[name] = firm
            elif len(given) == len(values) and all(
                is_same(given[0], value) for value in given[1:]
            ):
                scope.names[name] = given[0]
            else:
                end = self.modules.shown(self._line)
                reason = f"{name} is set in branches up to {end}"
                scope.names[name] = Unknown(reason)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, scope: Names) -> None:
        self._expression(node.test if isinstance(node, ast.While) else node.iter, scope)
        for name in _assigned(node):
            reason = f"the loop in {self._at(node)} sets {name}"
            scope.names[name] = Unknown(reason)
        self._fork((node.body, ()), scope)
        self._block(node.orelse, scope)

    def _try(self, node: ast.Try, scope: Names) -> bool:
        is_left = self._block(node.body, scope) or self._block(node.orelse, scope)
        for handler in node.handlers:
            self._fork((handler.body, ()), scope)
        return self._block(node.finalbody, scope) or (is_left and not node.handlers)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Names) -> bool:
        for item in node.items:
            value = self._expression(item.context_expr, scope)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value, scope)
        return self._block(node.body, scope)

    def _match(self, node: ast.Match, scope: Names) -> bool:
        self._expression(node.subject, scope)
        return self._fork([*(case.body for case in node.cases), ()], scope)

    def _return(self, node: ast.Return, scope: Names) -> bool:
        value: Evaluated = Known(None)
        if node.value is not None:
            value = self._expression(node.value, scope)
        if self._returned:
            self._returned[-1].append(value)
        return True

    def _delete(self, node: ast.Delete, scope: Names) -> None:
        for target in node.targets:
            self._bind(target, Unknown(f"{self._at(node)} deletes it"), scope)

    # Expressions

    def _expression(self, node: ast.expr, scope: Names) -> Evaluated:
        self._step(node)
        evaluate = self._expressions.get(type(node))
        if evaluate is not None:
            value: Evaluated = evaluate(node, scope)
            return value
        if isinstance(node, ast.Lambda):
            return Unknown("a function")
        inner = Names(scope)
        outer, self._branches = self._branches, (*self._branches, self._steps)
        for child in ast.walk(node):
            if isinstance(child, ast.comprehension):
                for name in _assigned(child):
                    inner.names[name] = Unknown(f"{name} goes through a list")
        self._visit(node, inner)
        self._branches = outer
        return Unknown(self._shown(node))

    def _constant(self, node: ast.Constant, scope: Names) -> Evaluated:
        del scope
        if isinstance(node.value, str | int | float) or node.value is None:
            return Known(node.value)
        return Unknown("no text, number or switch")

    def _name(self, node: ast.Name, scope: Names) -> Evaluated:
        value = scope.find(node.id)
        if value is None:
            if node.id in BUILTINS:
                return Imported(f"builtins.{node.id}")
            return Unknown(f"{node.id} is not set in this file")
        return self._resolved(value) if isinstance(value, Imported) else value

    def _attribute(self, node: ast.Attribute, scope: Names) -> Evaluated:
        return self._attribute_of(self._expression(node.value, scope), node)

    def _attribute_of(self, owner: Evaluated, node: ast.Attribute) -> Evaluated:
        if isinstance(owner, Imported):
            return self._attribute_of_module(owner, node.attr)
        if isinstance(owner, Block):
            return self._attribute_of_block(owner, node)
        if isinstance(owner, OptionParser):
            return Method(owner, node.attr)
        if isinstance(owner, Known) and isinstance(owner.value, str):
            return Method(owner, node.attr)
        if isinstance(owner, LocalClass):
            return self._field_of(owner, node.attr)
        return Unknown(self._shown(node))

    def _attribute_of_block(self, owner: Block, node: ast.Attribute) -> Evaluated:
        """Return a field, or a method; of what a function gave, a block to be set."""
        entry = owner.entries.get(node.attr)
        if entry is not None:
            return entry.value
        if owner.is_built or not owner.open_reason:
            return Method(owner, node.attr)
        return self._inner(owner, node)

    def _attribute_of_module(self, owner: Imported, name: str) -> Evaluated:
        last = owner.name.rpartition(".")[2]
        if last in self._catalogue.by_name:
            return Known(name)
        if last in self._catalogue.by_lower_name:
            return Known(name.lower())
        if name in self._catalogue.dtypes and last in {"torch", "jnp", "numpy"}:
            return Known(name)
        return self._resolved(Imported(f"{owner.name}.{name}", owner.path))

    def _inner(self, owner: Block, node: ast.Attribute) -> Block:
        """Return the block at an attribute of which nothing was said yet."""
        block = Block(position(node), owner.branches, f"{owner.name}.{node.attr}")
        block.open_reason = owner.open_reason
        owner.entries[node.attr] = BlockEntry(block, _end_of(node), position(node))
        return block

    def _field_of(self, owner: LocalClass, name: str) -> Evaluated:
        return self._fields(owner).get(name, Unknown(f"{name} is not set in its class"))

    def _subscript(self, node: ast.Subscript, scope: Names) -> Evaluated:
        owner = self._expression(node.value, scope)
        key = self._expression(node.slice, scope)
        if isinstance(owner, Block):
            entry = entry_at(owner, key)
            if entry is not None:
                return entry.value
        if isinstance(owner, Imported) and owner.name == "os.environ":
            name = key.value if isinstance(key, Known) else "a variable"
            return Unknown(f"{name} of the environment")
        return Unknown(self._shown(node))

    def _dict(self, node: ast.Dict, scope: Names) -> Evaluated:
        block = Block(position(node), self._branches)
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            value = self._expression(value_node, scope)
            if key_node is None:
                spread(block, value, self._at(value_node))
                continue
            key = self._expression(key_node, scope)
            if isinstance(key, Known) and isinstance(key.value, str | int):
                at = position(key_node)
                block.entries[key.value] = BlockEntry(value, at, position(value_node))
            else:
                block.open_reason = f"{self._at(key_node)} sets a key not known here"
        return block

    def _list(self, node: ast.List | ast.Tuple, scope: Names) -> Evaluated:
        block = Block(position(node), self._branches)
        block.is_list = True
        for item in node.elts[:_MOST_ITEMS]:
            value = self._expression(item, scope)
            if isinstance(item, ast.Starred):
                block.open_reason = "a list with parts that are not known"
            block.entries[len(block.entries)] = BlockEntry(value, None, position(item))
        return block

    def _set_of(self, node: ast.Set, scope: Names) -> Evaluated:
        return set_of([self._expression(item, scope) for item in node.elts])

    def _joined_text(self, node: ast.JoinedStr, scope: Names) -> Evaluated:
        parts: list[Evaluated] = []
        text = ""
        for part in node.values:
            value: Evaluated
            if isinstance(part, ast.FormattedValue):
                value = self._expression(part.value, scope)
                if part.format_spec is not None or part.conversion != _FORM_OF_OUTPUT:
                    value = Unknown("a text with a form of output")
            else:
                value = self._expression(part, scope)
            parts.append(value)
            if isinstance(value, Known) and len(text) <= LONGEST_TEXT:
                text += str(value.value)
        if len(text) > LONGEST_TEXT or not all(
            isinstance(value, Known) for value in parts
        ):
            return first_unknown(*parts)
        return Known(text, condition_of(*parts))

    def _binary(self, node: ast.BinOp, scope: Names) -> Evaluated:
        left = self._expression(node.left, scope)
        right = self._expression(node.right, scope)
        return binary(node.op, left, right)

    def _unary(self, node: ast.UnaryOp, scope: Names) -> Evaluated:
        return negated(node.op, self._expression(node.operand, scope))

    def _compare(self, node: ast.Compare, scope: Names) -> Evaluated:
        left = self._expression(node.left, scope)
        parts: list[Evaluated] = []
        for operator, item in zip(node.ops, node.comparators, strict=True):
            right = self._expression(item, scope)
            parts.append(compared(operator, left, right))
            left = right
        if len(parts) == 1:
            return parts[0]
        if all(isinstance(part, Known) for part in parts):
            is_true = all(isinstance(part, Known) and part.value for part in parts)
            return Known(is_true, condition_of(*parts))
        return first_unknown(*parts)

    def _boolean(self, node: ast.BoolOp, scope: Names) -> Evaluated:
        values = [self._expression(item, scope) for item in node.values]
        stops_at = isinstance(node.op, ast.Or)
        for value in values[:-1]:
            if isinstance(value, Block) and value.entries and stops_at:
                return value
            if isinstance(value, Block) and truth_of(value) is not None:
                if truth_of(value) is stops_at:
                    return value
                continue
            if not isinstance(value, Known):
                return first_unknown(value)
            if bool(value.value) is stops_at:
                return value
            if value.only_if:
                return Unknown(f"another value where not: {value.only_if}")
        return values[-1]

    def _choice(self, node: ast.IfExp, scope: Names) -> Evaluated:
        condition = self._expression(node.test, scope)
        outer, self._branches = self._branches, (*self._branches, self._steps)
        first = self._expression(node.body, scope)
        second = self._expression(node.orelse, scope)
        self._branches = outer
        if isinstance(condition, Known):
            chosen = first if condition.value else second
            if condition.only_if and isinstance(chosen, Known):
                return chosen._replace(only_if=condition.only_if)
            return chosen if not condition.only_if else first_unknown(chosen)
        return first if is_same(first, second) else Unknown(self._shown(node))

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: Names,
    ) -> Evaluated:
        """Go through lists that are known; of any other nothing is."""
        block = Block(position(node), self._branches)
        block.is_list = not isinstance(node, ast.DictComp)
        inner = Names(scope)
        outer, self._branches = self._branches, (*self._branches, self._steps)
        unknown = self._collect(node, 0, inner, block)
        self._branches = outer
        if unknown is None and isinstance(node, ast.SetComp):
            return set_of([entry.value for entry in block.entries.values()])
        return unknown or block

    def _collect(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        level: int,
        scope: Names,
        block: Block,
    ) -> Unknown | None:
        """Add what a comprehension gives to a block; return why that is not known."""
        if level == len(node.generators):
            return self._gather(node, scope, block)
        generator = node.generators[level]
        source = self._expression(generator.iter, scope)
        items = items_of(source)
        if items is None or len(items) > LONGEST_LIST:
            for name in _assigned(generator):
                scope.names[name] = Unknown(f"{name} goes through a list")
            for condition in generator.ifs:
                self._expression(condition, scope)
            self._collect(node, level + 1, scope, Block(None))
            return Unknown(self._shown(node))
        for item in items:
            self._bind(generator.target, item, scope)
            wanted = self._is_wanted(generator, scope)
            if wanted is None and not isinstance(node, ast.DictComp):
                return Unknown(f"{self._at(node)} may leave parts out")
            if wanted is False:
                continue
            before = {*block.entries} if wanted is None else None
            unknown = self._collect(node, level + 1, scope, block)
            if unknown is not None:
                return unknown
            for key in block.entries.keys() - before if before is not None else ():
                reason = Unknown(f"{self._at(node)} may leave it out")
                block.entries[key] = block.entries[key]._replace(value=reason)
        return None

    def _is_wanted(self, generator: ast.comprehension, scope: Names) -> bool | None:
        """Return whether the conditions of a comprehension hold; None if not known."""
        for condition in generator.ifs:
            is_true = truth_of(self._expression(condition, scope))
            if not is_true:
                return is_true
        return True

    def _gather(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: Names,
        block: Block,
    ) -> Unknown | None:
        """Add one item of a comprehension to a block."""
        if len(block.entries) >= LONGEST_LIST:
            return Unknown("a list that is too long")
        if not isinstance(node, ast.DictComp):
            value, at = self._expression(node.elt, scope), position(node.elt)
            block.entries[len(block.entries)] = BlockEntry(value, None, at)
            return None
        key = self._expression(node.key, scope)
        value = self._expression(node.value, scope)
        if not isinstance(key, Known) or not isinstance(key.value, str | int):
            return Unknown(self._shown(node))
        at = position(node.key)
        block.entries[key.value] = BlockEntry(value, at, position(node.value))
        return None

    def _named(self, node: ast.NamedExpr, scope: Names) -> Evaluated:
        value = self._expression(node.value, scope)
        self._bind(node.target, value, scope)
        return value

    def _awaited(self, node: ast.Await | ast.Starred, scope: Names) -> Evaluated:
        return self._expression(node.value, scope)

    # Calls

    def _call(self, node: ast.Call, scope: Names) -> Evaluated:
        callee = self._callee(node.func, scope)
        arguments = [self._expression(item, scope) for item in node.args]
        named: dict[str, Evaluated] = {}
        block = Block(position(node), self._branches)
        for keyword in node.keywords:
            value = self._expression(keyword.value, scope)
            if keyword.arg is None:
                spread(block, value, self._at(keyword.value))
                continue
            line, column, *_ = position(keyword) or (0, 0)
            at = (line, column, line, column + len(keyword.arg.encode()))
            named[keyword.arg] = value
            block.entries[keyword.arg] = BlockEntry(value, at, position(keyword.value))
        if any(isinstance(item, ast.Starred) for item in node.args):
            block.open_reason = block.open_reason or "arguments of a list"
        if isinstance(node.func, ast.Name) and node.func.id == "exec":
            for name, value in self.module.names.items():
                if isinstance(value, Known | Block):
                    reason = f"exec in {self._at(node)} may set {name}"
                    self.module.names[name] = Unknown(reason)
        self._handed.update(
            item.node for item in arguments if isinstance(item, LocalFunction)
        )
        if isinstance(callee, LocalFunction):
            return self._call_function(callee, arguments, named)
        if isinstance(callee, Method):
            return self._call_method(callee, arguments, block, node)
        if isinstance(callee, Imported | LocalClass):
            return self._call_name(callee, arguments, block, node)
        return self._given(self._shown(node.func), node)

    def _callee(self, node: ast.expr, scope: Names) -> Evaluated:
        """Return what is called; of an object, a method of that name."""
        if not isinstance(node, ast.Attribute):
            return self._expression(node, scope)
        owner = self._expression(node.value, scope)
        if not isinstance(owner, Block):
            return self._attribute_of(owner, node)
        entry = owner.entries.get(node.attr)
        if entry is None or (isinstance(entry.value, Block) and not owner.is_built):
            return Method(owner, node.attr)
        return entry.value

    def _given(self, name: str, node: ast.AST) -> Block:
        """Return what a call gives of which nothing is known."""
        block = Block(position(node), self._branches, name)
        block.open_reason = f"what {name:.60} gives is not in this file"
        return block

    def _call_name(
        self,
        callee: Imported | LocalClass,
        arguments: Sequence[Evaluated],
        block: Block,
        node: ast.Call,
    ) -> Evaluated:
        if isinstance(callee, Imported):
            known = called(callee.name, arguments, block, self._branches)
            if known is not None:
                return known
            self._build(callee, arguments, block)
        else:
            self._build_own(callee, arguments, block)
        call = self._tabulated(callee)
        if call is None:
            if arguments and not block.entries:
                block.open_reason = f"{block.name} is given arguments without names"
            return block if block.is_built else self._given(block.name, node)
        block.is_built = not call.is_open
        for name, value in zip(call.positional, arguments, strict=False):
            at = position(node.args[0])
            block.entries.setdefault(name, BlockEntry(value, at, at))
        if call.is_open:
            block.open_reason = f"what {call.names[0]} sets is not in this file"
        self._record_call(call, block, node)
        return block

    def _record_call(self, call: PythonCall, block: Block, node: ast.Call) -> None:
        """Keep what a call, or one of its arguments, states."""
        if call.recorded == "returned":
            return
        if call.recorded != "argument":
            self._record(call, block, node)
            return
        for name in call.argument:
            entry = block.entries.get(name)
            if entry is not None and isinstance(entry.value, Block):
                self._record(call, entry.value, node)

    def _build(
        self, callee: Imported, arguments: Sequence[Evaluated], block: Block
    ) -> None:
        """Name what a class or a function of another module makes."""
        if callee.name in self._catalogue.builders and arguments:
            built = arguments[0]
            block.name = built.name if isinstance(built, Imported) else ""
            block.is_built = True
            return
        block.name = callee.name
        block.is_built = callee.name.rpartition(".")[2].lstrip("_")[:1].isupper()

    def _build_own(
        self, callee: LocalClass, arguments: Sequence[Evaluated], block: Block
    ) -> None:
        """Give an object of a class of the file its fields, as far as they are sure."""
        block.name, block.is_built = callee.node.name, True
        fields = self._fields(callee)
        block.own_fields = frozenset(fields)
        if arguments or any(
            isinstance(item, ast.FunctionDef) and item.name in _INITIALISERS
            for item in callee.node.body
        ):
            block.open_reason = f"{callee.node.name} sets fields by itself"
            return
        for name, value in fields.items():
            block.entries.setdefault(name, BlockEntry(value, None, None))

    def _call_method(
        self,
        method: Method,
        arguments: Sequence[Evaluated],
        block: Block,
        node: ast.Call,
    ) -> Evaluated:
        owner = method.of
        if isinstance(owner, OptionParser):
            return self._call_parser(owner, method.name, arguments, block)
        if isinstance(owner, Known):
            return text_method(owner, method.name, arguments)
        if method.name in self._catalogue.chained and arguments:
            return self._chain(owner, method.name, arguments, node)
        value = self._read_block(owner, method.name, arguments)
        if value is None:
            value = self._change_block(owner, method.name, arguments, block, node)
        return value or self._given(self._shown(node.func), node)

    def _read_block(
        self, owner: Block, name: str, arguments: Sequence[Evaluated]
    ) -> Evaluated | None:
        """Return what a method of a mapping or list gives, if it only reads it."""
        if name == "get" and arguments and isinstance(arguments[0], Known):
            return item_of(owner, arguments)
        if name == "copy":
            return owner.copied(self._branches)
        if name in {"items", "keys", "values"} and not owner.is_built:
            return view_of(owner, name)
        return None

    def _change_block(
        self,
        owner: Block,
        name: str,
        arguments: Sequence[Evaluated],
        named: Block,
        node: ast.Call,
    ) -> Evaluated | None:
        """Change a mapping or a list by a method; return what that gives, if known."""
        if name == "update" and not owner.is_list:
            return self._update(owner, arguments, named, node)
        is_here = self._branches == owner.branches[: len(self._branches)]
        is_here = is_here and len(owner.entries) < LONGEST_LIST
        if name == "append" and owner.is_list and arguments and is_here:
            at = position(node.args[0])
            owner.entries[len(owner.entries)] = BlockEntry(arguments[0], None, at)
            return Known(None)
        if name.startswith(("set", "pop", "append", "extend", "insert")):
            owner.open_reason = f"{self._at(node)} changes it by {name}()"
        return None

    def _chain(
        self, owner: Block, name: str, arguments: Sequence[Evaluated], node: ast.Call
    ) -> Block:
        """Add to a block of an object by a method that gives the object back."""
        below = self._catalogue.chained[name]
        inner = owner.entries.get(below)
        holder = inner.value if inner is not None else Block(position(node))
        if isinstance(holder, Block) and isinstance(arguments[0], Known):
            value = arguments[1] if len(arguments) > 1 else Unknown("not given")
            at = position(node.args[0])
            holder.entries[str(arguments[0].value)] = BlockEntry(value, at, at)
            owner.entries[below] = BlockEntry(holder, at, at)
        return owner

    def _update(
        self,
        owner: Block,
        arguments: Sequence[Evaluated],
        named: Block,
        node: ast.Call,
    ) -> Evaluated:
        """Set what `update` of a mapping is given."""
        given = Block(named.at)
        for value in (*arguments, named):
            spread(given, value, self._at(node))
        for key, entry in given.entries.items():
            self._set(owner, key, entry.value, entry.key, node)
        owner.open_reason = owner.open_reason or given.open_reason
        return Known(None)

    def _call_parser(
        self,
        parser: OptionParser,
        name: str,
        arguments: Sequence[Evaluated],
        block: Block,
    ) -> Evaluated:
        named = {str(key): entry.value for key, entry in block.entries.items()}
        if name == "add_argument":
            add_option(parser, arguments, named)
        elif name == "set_defaults":
            for key, value in named.items():
                option = parser.options.get(key)
                flag = f"--{key}"
                parser.options[key] = (
                    ParserOption((flag,), value)
                    if option is None
                    else option._replace(default=value)
                )
        elif name in _PARSING:
            return self._parsed(parser, name)
        elif name in {"add_argument_group", "add_mutually_exclusive_group"}:
            return parser
        return Unknown("a part of a parser of arguments")

    def _parsed(self, parser: OptionParser, name: str) -> Block:
        """Return what a parser gives: its options, or objects of its classes."""
        options = Block(None, self._branches)
        options.is_built = not parser.classes
        for key, option in parser.options.items():
            value = value_of(option, self._command_line)
            options.entries[key] = BlockEntry(value, None, None)
        if not parser.classes and name != "parse_known_args":
            return options
        result = Block(None, self._branches)
        result.is_list = True
        parts: list[Evaluated] = [options]
        if parser.classes:
            parts = [self._parsed_class(item) for item in parser.classes]
        for part in parts:
            result.entries[len(result.entries)] = BlockEntry(part, None, None)
        return result

    def _parsed_class(self, item: Evaluated) -> Evaluated:
        if not isinstance(item, LocalClass):
            return Unknown("what the command line gives")
        block = Block(None, self._branches, item.node.name)
        block.is_built = True
        kinds = self._kinds(item)
        for key, value in self._fields(item).items():
            switch = True if kinds.get(key) == "bool" else None
            option = ParserOption((f"--{key}",), value, kinds.get(key, ""), switch)
            given = value_of(option, self._command_line)
            block.entries[key] = BlockEntry(given, None, None)
        return block

    def _kinds(self, owner: LocalClass) -> dict[str, str]:
        """Return of which types the fields of a class of the file are."""
        kinds: dict[str, str] = {}
        for base in owner.bases:
            if isinstance(base, LocalClass) and base is not owner:
                kinds.update(self._kinds(base))
        for item in owner.node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                kinds[item.target.id] = kind_of(item.annotation)
        return kinds

    def _fields(self, owner: LocalClass) -> dict[str, Evaluated]:
        """Return the fields of a class of the file with their defaults."""
        fields: dict[str, Evaluated] = {}
        for base in owner.bases:
            if isinstance(base, LocalClass) and base is not owner:
                self._depth += 1
                if self._depth <= _DEEPEST_CALLS:
                    fields.update(self._fields(base))
                self._depth -= 1
        target: ast.expr
        for statement in owner.node.body:
            if isinstance(statement, ast.AnnAssign):
                target, value_node = statement.target, statement.value
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target, value_node = statement.targets[0], statement.value
            else:
                continue
            if not isinstance(target, ast.Name):
                continue
            fields[target.id] = self._default_of(value_node, target.id, owner.scope)
        for name in owner.changed:
            fields[name] = Unknown(f"a line sets {name} of the class")
        return fields

    def _default_of(self, node: ast.expr | None, name: str, scope: Names) -> Evaluated:
        if node is None:
            return Unknown(f"{name} has no default")
        if isinstance(node, ast.Call) and self._shown(node.func).endswith("ield"):
            for keyword in node.keywords:
                if keyword.arg == "default":
                    return self._expression(keyword.value, scope)
            return Unknown(f"{name} has no plain default")
        return self._expression(node, scope)

    def _call_function(
        self,
        function: LocalFunction,
        arguments: Sequence[Evaluated],
        named: dict[str, Evaluated],
        *,
        is_outer: bool = False,
    ) -> Evaluated:
        node = function.node
        if self._depth >= _DEEPEST_CALLS or node in self._active:
            return Unknown(f"what {node.name} gives")
        self._followed.add(node)
        self._active.append(node)
        scope = Names(function.scope)
        is_hidden = is_outer or bool(node.decorator_list)
        self._parameters(node, scope, arguments, named, is_hidden=is_hidden)
        self._returned.append([])
        self._depth += 1
        is_left = self._block(node.body, scope)
        self._depth -= 1
        self._active.pop()
        values = self._returned.pop()
        if values and not is_left:
            values.append(Known(None))
        if len(values) == 1:
            return values[0]
        if values and all(is_same(values[0], value) for value in values[1:]):
            return values[0]
        return Known(None) if not values else Unknown(f"what {node.name} returns")

    def _parameters(
        self,
        node: _Definition,
        scope: Names,
        arguments: Sequence[Evaluated],
        named: dict[str, Evaluated],
        *,
        is_hidden: bool,
    ) -> None:
        """Bind the parameters of a function, by its defaults where nothing is given."""
        given = node.args
        plain = [*given.posonlyargs, *given.args]
        defaults: dict[str, ast.expr] = {
            item.arg: value
            for item, value in zip(
                reversed(plain), reversed(given.defaults), strict=False
            )
        }
        for item, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if value is not None:
                defaults[item.arg] = value
        passed = {
            item.arg: value for item, value in zip(plain, arguments, strict=False)
        }
        passed.update(named)
        for item in (*plain, *given.kwonlyargs):
            name = item.arg
            if name in passed and not is_hidden:
                scope.names[name] = passed[name]
            elif name in defaults and (not is_hidden or node in self._handed):
                value_of = self._expression(defaults[name], scope)
                condition = f"{node.name}() is not given {name}" if is_hidden else ""
                scope.names[name] = fallback(value_of, condition)
            else:
                scope.names[name] = self._parameter(item, node.name, scope)
        for rest in (given.vararg, given.kwarg):
            if rest is not None:
                scope.names[rest.arg] = Unknown(f"what {node.name}() is given")

    def _parameter(self, item: ast.arg, function: str, scope: Names) -> Evaluated:
        """Return a parameter without default: an object of a class of the file."""
        if item.arg == "self":
            owner_block = Block(None, self._branches, "self")
            owner_block.open_reason = f"what {function}() does not set of self"
            return owner_block
        if isinstance(item.annotation, ast.Name):
            owner = self._expression(item.annotation, scope)
            if isinstance(owner, LocalClass):
                return self._parsed_class(owner)
        return Unknown(f"{item.arg} is what {function}() is given")

    def _tabulated(self, callee: Evaluated) -> PythonCall | None:
        """Return the row of the catalogue for a class or function."""
        names = [callee.name] if isinstance(callee, Imported) else []
        waiting = [callee]
        budget = _DEEPEST_CALLS
        while waiting and budget and isinstance(callee, LocalClass):
            budget -= 1
            item = waiting.pop()
            if isinstance(item, LocalClass):
                waiting += item.bases
            elif isinstance(item, Imported):
                root = item.name.partition(".")[0]
                names += [item.name, f"{root}.{callee.node.name}"]
        return next(filter(None, map(self._catalogue.find, names)), None)

    def _record(self, call: PythonCall, block: Block, node: ast.AST) -> None:
        """Keep a configuration that a line of the file itself makes."""
        at = position(node) or (1, 0, 1, 0)
        if self.modules.is_other(at[0]):
            return
        made = block.at
        if made is not None and not self.modules.is_other(made[0]):
            place = made
        else:
            place = (at[0], at[1], at[0], at[1])
        function = node.name if isinstance(node, _Definition) else ""
        record = Recorded(call, block, place, function)
        self.recorded.setdefault(at, []).append(record)


def _end_of(node: ast.Attribute) -> Position | None:
    """Return where the last name of a dotted one stands."""
    at = position(node)
    if at is None:
        return None
    return at[2], max(0, at[3] - len(node.attr.encode())), at[2], at[3]


def _is_main(test: ast.expr) -> bool:
    """Tell whether a condition is that the file is the program itself."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def _assigned(node: ast.AST) -> set[str]:
    """Return the names that a statement sets, at any depth."""
    return {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }


def _rebound(tree: ast.Module) -> frozenset[str]:
    """Return the names of a module that its functions set anew."""
    return frozenset(
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Global)
        for name in node.names
    )
