"""Python files: what their calls and assignments state, as documents of formats."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from speccheck.validator.catalogue.python_calls import PythonCall, python_calls
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place, branch_condition
from speccheck.validator.sources.documents.document import (
    Document,
    Extent,
    LineTable,
    ReadError,
    Resolution,
    TreeNode,
    too_deep,
)
from speccheck.validator.sources.python.command_line import ProgramArguments
from speccheck.validator.sources.python.interpreter import (
    Interpreter,
    Recorded,
    TooMuch,
)
from speccheck.validator.sources.python.modules import FindModule, Modules, parsed
from speccheck.validator.sources.python.values import (
    Block,
    BlockEntry,
    Evaluated,
    Imported,
    Known,
    Position,
    Unknown,
    is_same,
    position,
)

MAXIMUM_SOURCE = 2_000_000  # characters; the largest module of CPython has 250 kB
_MOST_ENTRIES = 20_000  # of one configuration
_DEEPEST = 30
_PLACEHOLDER = "${not known}"  # no text of a configuration; readers take it for open


class PythonDocument(Document):
    """One configuration of a Python file; see `Document`."""

    __slots__ = ("_branch", "_call", "_content", "_function")

    def __init__(
        self, name: str, text: str, index: int, draft: "_Draft", content: "_Content"
    ) -> None:
        """Take what a configuration of the file holds."""
        super().__init__(
            name=name,
            language="python",
            text=text,
            data=content.data,
            find_nodes=partial(_nodes, text, content.places, draft.at),
            index=index,
        )
        self._content = content
        self._call = draft.call
        self._function = draft.function
        self._branch = branch_condition(draft.order[0]) if draft.block.branches else ""

    @property
    def declared_format(self) -> str:
        """The format that the language of the file says by itself; often nothing."""
        return self._call.format

    @property
    def function(self) -> str:
        """The function that gives it; empty for what a call states."""
        return self._function

    @property
    def leaves_model_open(self) -> bool:
        """Whether other lines of its file make the model that is trained."""
        return self._call.recorded != "returned"

    @property
    def judges_keys(self) -> bool:
        """Whether its keys are those of its format's table."""
        return not self._call.has_own_keys

    @property
    def open_reason(self) -> str:
        """Why it may hold more keys than are seen; empty where it does not."""
        return self._content.open_reason

    @property
    def own_data(self) -> object:
        """The part of `data` that is of the format, null where it is not known."""
        return self._content.own

    @property
    def fallbacks(self) -> Mapping[KeyPath, str]:
        """The conditions of values that hold only where nobody gives others."""
        stated = dict.fromkeys(self._content.places, self._branch)
        stated.update(
            (path, resolution.only_if)
            for path, resolution in self._content.resolutions.items()
            if resolution.only_if
        )
        return {path: stated[path] for path in stated if stated[path]}

    @property
    def unsure(self) -> frozenset[KeyPath]:
        """The keys whose values are not known."""
        return frozenset(
            path
            for path, resolution in self._content.resolutions.items()
            if not resolution.is_known
        )

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Return how the value at a path was worked out, or why not; None if plain."""
        for length in range(len(path), 0, -1):
            resolution = self._content.resolutions.get(path[:length])
            if resolution is not None:
                return resolution
        return None

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key path, under the condition that it holds by."""
        place = super().place(path)
        resolution = self.resolution(path)
        only_if = resolution.only_if if resolution is not None else ""
        return place._replace(only_if=only_if or self._branch)


class _Draft(Record):
    """A configuration in the making; `at` is where the file itself makes it."""

    call: PythonCall
    block: Block
    at: Position
    function: str = ""

    @property
    def order(self) -> tuple[int, int]:
        """Where it stands among the configurations of the file."""
        return self.at[0], self.at[1]


class _Content:
    """What a block holds, as plain data, with what is to be known of each value."""

    def __init__(self, call: PythonCall, block: Block, modules: Modules) -> None:
        self._modules = modules
        self.resolutions: dict[KeyPath, Resolution] = {}
        self.places: dict[KeyPath, tuple[Position | None, Position | None]] = {}
        self.open_reason = block.open_reason
        self._call = call
        self._left = _MOST_ENTRIES
        self.data: object = {}
        self.own: object = {}
        self.data, self.own = self._mapping(_moved(call, block), ())

    def _mapping(self, block: Block, path: KeyPath) -> tuple[object, object]:
        if block.open_reason and not self.open_reason:
            self.open_reason = block.open_reason
        data: dict[str | int, object] = {}
        own: dict[str | int, object] = {}
        for key, entry in block.entries.items():
            here = (*path, key)
            data[key], kept = self._value(entry, here)
            if key not in block.own_fields:
                own[key] = kept
        if self._call.class_key and block.is_built and block.name:
            data[self._call.class_key] = block.name
        return data, own

    def _value(self, entry: BlockEntry, path: KeyPath) -> tuple[object, object]:
        self._left -= 1
        if self._left < 0:
            raise TooMuch
        key_at, at = self._own(entry.key), self._own(entry.at)
        self.places[path] = (key_at, at)
        value = entry.value
        if isinstance(value, Known):
            note = value.note
            if at is None and entry.at is not None:
                note = f"set in {self._modules.shown(entry.at[0])}"
            if value.only_if or note:
                self.resolutions[path] = Resolution(
                    is_known=True,
                    note=note,
                    is_computed=bool(note),
                    only_if=value.only_if,
                )
            return value.value, value.value
        if isinstance(value, Block) and len(path) < _DEEPEST:
            if value.is_list:
                return self._items(value, path)
            if value.entries or not value.open_reason:
                return self._mapping(value, path)
        self.resolutions[path] = Resolution(is_known=False, note=_reason(value))
        return _PLACEHOLDER, None

    def _own(self, at: Position | None) -> Position | None:
        """Return a position of the file itself; None for one of another module."""
        return None if at is None or self._modules.is_other(at[0]) else at

    def _items(self, block: Block, path: KeyPath) -> tuple[object, object]:
        if block.open_reason:
            self.resolutions[path] = Resolution(is_known=False, note=block.open_reason)
            return _PLACEHOLDER, None
        pairs = [
            self._value(entry, (*path, index))
            for index, entry in enumerate(block.entries.values())
        ]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _moved(call: PythonCall, block: Block) -> Block:
    """Return a block whose arguments of other names lie where they are set."""
    moves = {name: call.moves[name] for name in call.moves if name in block.entries}
    if not moves:
        return block
    result = block.copied(block.branches)
    for name, target in moves.items():
        entry = result.entries.pop(name)
        *above, key = target.split(".")
        inner = result
        for step in above:
            below = inner.entries.get(step)
            if below is None or not isinstance(below.value, Block):
                new = Block(block.at, block.branches)
                below = BlockEntry(new, entry.key, entry.at)
                inner.entries[step] = below
            inner = below.value if isinstance(below.value, Block) else inner
        inner.entries.setdefault(key, entry)
    return result


def _reason(value: Evaluated) -> str:
    if isinstance(value, Unknown):
        return value.reason
    if isinstance(value, Block):
        return value.open_reason or "it nests too deep"
    if isinstance(value, Imported):
        return f"{value.name} of another module"
    return "no plain value"


def load_python(
    name: str,
    text: str,
    find: FindModule | None = None,
    command_line: ProgramArguments | None = None,
) -> list[Document]:
    """Return the configurations of a Python file, in the order of their lines.

    Args:
        name: of the file.
        text: the whole text.
        find: how the modules of its repository are found; None to follow none.
        command_line: what the file is started with, where that is known.

    Raises:
        ReadError: the text is no Python of this release, too long, or does too much.
    """
    if len(text) > MAXIMUM_SOURCE:
        raise ReadError(
            name,
            "too_large",
            f"{len(text):,} characters; a Python file may have {MAXIMUM_SOURCE:,}",
            "give the part that sets up training",
        )
    marks = python_calls().marks()
    if not any(mark.decode() in text for mark in marks):
        return []
    try:
        tree = parsed(text)
        try:
            return _documents(name, text, tree, find, command_line)
        except (TooMuch, RecursionError):
            if find is None:
                raise
            return _documents(name, text, tree, None, command_line)
    except SyntaxError as error:
        at = (error.lineno, error.offset or 1) if error.lineno else None
        problem = f"not Python: {error.msg}"
        raise ReadError(name, "syntax", problem, "correct the line", at) from error
    except (RecursionError, MemoryError):
        raise too_deep(name) from None
    except TooMuch:
        raise ReadError(
            name,
            "too_deep",
            "its functions and loops do more than is followed",
            "give a configuration, or the file that it writes",
        ) from None
    except ValueError as error:  # an integer too long, a lone surrogate
        raise ReadError(
            name, "syntax", f"not Python: {error}", "correct the file"
        ) from error


def _documents(
    name: str,
    text: str,
    tree: ast.Module,
    find: FindModule | None,
    command_line: ProgramArguments | None,
) -> list[Document]:
    modules = Modules(name, find)
    interpreter = Interpreter(name, modules, command_line)
    interpreter.run(tree)
    drafts = [*_drafts(interpreter), *_module(tree, interpreter)]
    drafts.sort(key=lambda draft: draft.order)
    result: list[Document] = []
    for index, draft in enumerate(drafts):
        content = _Content(draft.call, draft.block, modules)
        result.append(PythonDocument(name, text, index, draft, content))
    return result


def _drafts(interpreter: Interpreter) -> Iterator[_Draft]:
    """Yield the configurations that calls and functions make."""
    together: dict[tuple[str, bool], list[_Draft]] = {}
    for recorded in interpreter.recorded.values():
        draft = _stated_by(recorded)
        if draft.call.recorded == "together" or draft.call.under:
            is_call = draft.call.recorded == "together"
            together.setdefault((draft.call.format, is_call), []).append(draft)
        else:
            yield draft
    for drafts in together.values():
        yield _merged(drafts)


def _stated_by(recorded: Sequence[Recorded]) -> _Draft:
    """Return what a call states, that may be followed several times."""
    first = recorded[0]
    block = first.block
    for other in recorded[1:]:
        block = _joined(block, other.block)
    return _Draft(first.call, block, first.at, first.function)


def _joined(left: Block, right: Block) -> Block:
    """Return what two blocks of one call have in common; the rest is not known."""
    if left is right:
        return left
    result = Block(left.at, left.branches, left.name)
    result.is_built, result.own_fields = left.is_built, left.own_fields
    result.open_reason = left.open_reason or right.open_reason
    for key in {**left.entries, **right.entries}:
        ours, theirs = left.entries.get(key), right.entries.get(key)
        entry = ours or theirs
        if entry is None:
            continue
        if ours is None or theirs is None or not is_same(ours.value, theirs.value):
            entry = entry._replace(value=Unknown("it differs from call to call"))
        result.entries[key] = entry
    return result


def _merged(drafts: Sequence[_Draft]) -> _Draft:
    """Return one configuration of the calls of a file that state parts of it."""
    first = min(drafts, key=lambda draft: draft.order)
    whole = Block(first.block.at)
    whole.is_built = True
    by_part: dict[str, Block] = {}
    for draft in drafts:
        before = by_part.get(draft.call.under)
        block = draft.block
        by_part[draft.call.under] = _joined(before, block) if before else block
    for part, block in by_part.items():
        whole.entries[part] = BlockEntry(block, block.at, block.at)
    return _Draft(first.call, whole, first.at)


def _module(tree: ast.Module, interpreter: Interpreter) -> Iterator[_Draft]:
    """Yield the configuration that the names at the top of a file are."""
    imported = {
        (node.module or "").partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    names = interpreter.module.names
    for row in python_calls().modules:
        if imported.isdisjoint(row.imports) or not all(
            name in names for name in row.names
        ):
            continue
        block = Block((1, 0, 1, 0))
        places = _assignments(tree.body)
        for name, value in names.items():
            if name in places and isinstance(value, Known | Unknown | Block):
                block.entries[name] = BlockEntry(value, *places[name])
        yield _Draft(PythonCall((), (), row.format), block, (1, 0, 1, 0))


def _assignments(
    body: Iterable[ast.stmt],
) -> dict[str, tuple[Position | None, Position | None]]:
    """Return where the names at the top of a file are assigned."""
    return {
        target.id: (position(target), position(node.value))
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _nodes(
    text: str,
    places: Mapping[KeyPath, tuple[Position | None, Position | None]],
    at: Position | None,
) -> TreeNode:
    """Return the tree of the places of a configuration."""
    lines = LineTable(text)
    extent: Callable[[Position], Extent] = partial(_extent, lines)
    root = TreeNode(None, extent(at or (1, 0, 1, 0)))
    root.children = {}
    for path, (key_at, value_at) in places.items():
        node = root
        for step in path[:-1]:
            below = node.child(step)
            node = below if below is not None else node
        if node.children is None:
            node.children = {}
        shown = value_at or key_at or at or (1, 0, 1, 0)
        node.children[path[-1]] = TreeNode(
            extent(key_at) if key_at else extent(shown), extent(shown)
        )
    return root


def _extent(lines: LineTable, at: Position) -> Extent:
    """Return a position of Python's syntax, in bytes of lines, as offsets."""
    line, column, end_line, end_column = at
    return _offset(lines, line, column), _offset(lines, end_line, end_column)


def _offset(lines: LineTable, line: int, column: int) -> int:
    row = lines.line(line).encode()
    return lines.offset(line) + len(row[:column].decode(errors="ignore"))
