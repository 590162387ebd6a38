"""What an expression of Python comes to, as far as the file alone says it."""

import ast
from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.record import Record

Position = tuple[int, int, int, int]  # line, column in bytes, and where it ends


class Known(Record):
    """A scalar: a text, a number, a switch or None.

    Attributes:
        value: as Python has it.
        only_if: the condition under which it holds, in words; empty for any case.
        note: the arithmetic; empty where it stands as it is.

    """

    value: object
    only_if: str = ""
    note: str = ""


class Unknown(Record):
    """A value that the file does not say, with the reason."""

    reason: str


class BlockEntry(Record):
    """A value in a block, and where its key and itself stand."""

    value: "Evaluated"
    key: Position | None
    at: Position | None


class Block:
    """A mapping, a list or an object, which later lines may change.

    Attributes:
        name: dotted, of the class or function that gave it; empty for plain ones.
        entries: by key, or by index of a list.
        is_list: whether it is a list or a tuple.
        is_built: by a class whose arguments are its fields; else by a function.
        open_reason: why it may hold more than is seen; empty where it does not.
        branches: the branches in which it was made.
        at: where it was made.

    """

    __slots__ = (
        *("at", "branches", "entries", "is_built", "is_list", "name"),
        *("open_reason", "own_fields"),
    )

    def __init__(
        self, at: Position | None, branches: tuple[int, ...] = (), name: str = ""
    ) -> None:
        """Start empty."""
        self.at = at
        self.branches = branches
        self.name = name
        self.entries: dict[str | int, BlockEntry] = {}
        self.is_list = False
        self.is_built = False
        self.open_reason = ""
        self.own_fields: frozenset[str] = frozenset()

    def copied(
        self, branches: tuple[int, ...], copies: "dict[int, Block] | None" = None
    ) -> "Block":
        """Return a copy with copies of what lies in it, for other lines to change."""
        copies = {} if copies is None else copies
        if id(self) in copies:
            return copies[id(self)]
        result = copies[id(self)] = Block(self.at, branches, self.name)
        result.is_list, result.is_built = self.is_list, self.is_built
        result.open_reason, result.own_fields = self.open_reason, self.own_fields
        for key, entry in self.entries.items():
            value = entry.value
            if isinstance(value, Block):
                value = value.copied(branches, copies)
            result.entries[key] = entry._replace(value=value)
        return result


class Imported(Record):
    """A name of another module, or an attribute of one.

    Attributes:
        name: dotted; begins with as many dots as the import is relative by.
        path: of the file that imports it.

    """

    name: str
    path: str = ""


class LocalFunction:
    """A function of the file, with the scope that it sees."""

    __slots__ = ("node", "scope")

    def __init__(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: "Names"
    ) -> None:
        """Keep the definition."""
        self.node = node
        self.scope = scope


class LocalClass:
    """A class of the file, with the names of what it inherits from."""

    __slots__ = ("bases", "changed", "node", "scope")

    def __init__(
        self, node: ast.ClassDef, bases: tuple["Evaluated", ...], scope: "Names"
    ) -> None:
        """Keep the definition."""
        self.node = node
        self.bases = bases
        self.changed: set[str] = set()  # fields that lines set of the class itself
        self.scope = scope


class ParserOption(Record):
    """An option of a command line.

    Attributes:
        flags: as they may be given, the long one first.
        default: None where there is none.
        kind: the type of its value: int, float, str, bool; empty where not known.
        switch: what it is where it is given without a value.

    """

    flags: tuple[str, ...]
    default: "Evaluated | None"
    kind: str = "str"
    switch: bool | None = None


class OptionParser:
    """A parser of command lines with its options, or with the classes it fills."""

    __slots__ = ("classes", "options")

    def __init__(self, classes: tuple["Evaluated", ...] = ()) -> None:
        """Start without options."""
        self.options: dict[str, ParserOption] = {}
        self.classes = classes


class Method(Record):
    """A method of an object, not called yet."""

    of: "Block | OptionParser | Known"
    name: str


Evaluated = (
    Known
    | Unknown
    | Block
    | Imported
    | LocalFunction
    | LocalClass
    | OptionParser
    | Method
)


class Names:
    """The names of a module, a class or a function."""

    __slots__ = ("above", "names", "path", "rebound")

    def __init__(
        self,
        above: "Names | None" = None,
        path: str = "",
        rebound: frozenset[str] = frozenset(),
    ) -> None:
        """Start empty, inside another one or for a module of that path.

        Args:
            above: the names around these.
            path: of the file.
            rebound: names of a module that its functions set anew.

        """
        self.above = above
        self.path: str = above.path if above is not None else path
        self.rebound = rebound
        self.names: dict[str, Evaluated] = {}

    def find(self, name: str) -> Evaluated | None:
        """Return what a name stands for; None where it is not known."""
        scope: Names | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.above
        return None


def position(node: ast.AST) -> Position | None:
    """Return where a node stands."""
    line = getattr(node, "lineno", None)
    if line is None:
        return None
    end_line = getattr(node, "end_lineno", None) or line
    column = getattr(node, "col_offset", 0)
    return line, column, end_line, getattr(node, "end_col_offset", None) or column


def is_same(left: Evaluated, right: Evaluated, levels: int = 8) -> bool:
    """Tell whether two values are surely the same, as deep as these levels."""
    if left is right:
        return True
    if isinstance(left, Known) and isinstance(right, Known):
        same_type = type(left.value) is type(right.value)
        return same_type and left.value == right.value and left.only_if == right.only_if
    if isinstance(left, Block) and isinstance(right, Block):
        return (
            left.entries.keys() == right.entries.keys()
            and left.name == right.name
            and not left.open_reason
            and not right.open_reason
            and all(
                is_same(left.entries[key].value, right.entries[key].value, levels - 1)
                for key in left.entries
            )
            and levels > 0
        )
    return isinstance(left, Imported) and left == right


def truth_of(value: Evaluated) -> bool | None:
    """Return whether a condition takes a value for true; None where it is not known."""
    if isinstance(value, Known):
        return None if value.only_if else bool(value.value)
    if not isinstance(value, Block) or value.is_built or value.name:
        return None
    if value.entries:
        return True
    return None if value.open_reason else False


def items_of(value: Evaluated) -> list[Evaluated] | None:
    """Return what a loop goes through; None where it is not known."""
    if not isinstance(value, Block) or value.open_reason or value.name:
        return None
    if value.is_list:
        return [entry.value for entry in value.entries.values()]
    return [Known(key) for key in value.entries]


def changed(
    before: Mapping[str, Evaluated], after: Mapping[str, Evaluated]
) -> Iterator[str]:
    """Yield the names that mean something else after a branch."""
    for name, value in after.items():
        if name not in before or before[name] is not value:
            yield name
