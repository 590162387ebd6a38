"""The variables of a script, and what they may hold after branches."""

from collections.abc import Callable, Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.scripts.static_shell.pieces import (
    BLANK,
    Piece,
    words_of,
)

_POSITIONAL = lazy_pattern(r"\$\{[0-9]+\}")
_OPTION = lazy_pattern(r"(?:^|[ \t\n])-")


class Variable(Record):
    """A variable.

    pieces: the elements of an array, or what a plain value consists of; None when the
        value cannot be known.
    start, value_start, value_end: offsets of the assignment and of its value; start is
        -1 for a variable that has no value: `unset A`, `export A`.
    """

    pieces: tuple[Piece, ...] | None
    array: bool = False
    exported: bool = False
    conditional: bool = False
    start: int = -1
    value_start: int = 0
    value_end: int = 0

    @property
    def is_set(self) -> bool:
        """Whether the script gives it a value, known or not."""
        return self.start >= 0

    def text(self) -> str | None:
        """The value as one text, or None when any of it is unknown."""
        if self.pieces is None or not all(piece.resolved for piece in self.pieces):
            return None
        first = self.pieces[:1] if self.array else self.pieces
        return "".join([piece.text for piece in first])


class Scope:
    """Variables as one branch of a script sees them.

    A branch keeps its changes to itself until it is joined with the others.

    stopped: how the branch was left early (`exit`, `return`, `break`), or nothing.
    """

    __slots__ = ("changes", "exported_only", "parent", "stopped")

    def __init__(
        self, parent: "Scope | None" = None, *, exported_only: bool = False
    ) -> None:
        self.parent = parent
        self.exported_only = exported_only
        self.changes: dict[str, Variable] = {}
        self.stopped = ""

    def get(self, name: str) -> Variable | None:
        """A variable, or None when the script says nothing of it."""
        scope: Scope | None = self
        exported_only = False
        while scope is not None:
            variable = scope.changes.get(name)
            if variable is not None:
                hidden = exported_only and not variable.exported
                return None if hidden else variable
            exported_only = exported_only or scope.exported_only
            scope = scope.parent
        return None


def join_branches(
    scope: Scope,
    branches: Sequence[Scope],
    spend: Callable[[int], bool],
    *,
    may_skip: bool,
) -> None:
    """Bring what branches changed into their scope.

    may_skip: possibly no branch is taken. spend: takes the work that a comparison is,
    and tells whether it may be done; else the variable is unknown.
    """
    live = [branch for branch in branches if not branch.stopped]
    if not live and not may_skip:
        scope.stopped = branches[0].stopped if branches else ""
    names = dict.fromkeys(name for branch in live for name in branch.changes)
    for name in names:
        base = scope.get(name)
        alternatives = [branch.changes.get(name, base) for branch in live]
        if may_skip:
            alternatives.append(base)
        work = sum(len(one.pieces or ()) for one in alternatives if one is not None)
        joined = _join(alternatives) if spend(work // 4) else Variable(None, start=0)
        scope.changes[name] = joined


def _join(alternatives: Sequence[Variable | None]) -> Variable:
    """What a variable holds after one of several branches was taken.

    A value that only an argument of the script would give counts for nothing beside
    one that is written out: as in `${1:-8}`, the script is read as run without any.
    """
    known = [one for one in alternatives if one is not None]
    written = [one for one in known if one.is_set]
    stated = [one for one in written if not _is_argument(one)] or written
    if not stated:
        return known[0]._replace(exported=any(one.exported for one in known))
    # The last one set in a branch, rather than the value from before all of them.
    shown = max(stated, key=lambda one: one.start)
    sure = len(stated) == len(alternatives)
    shown = shown._replace(
        exported=any(one.exported for one in known),
        conditional=not sure or any(one.conditional for one in stated),
    )
    first = _key(stated[0])
    if first is not None and all(_key(one) == first for one in stated[1:]):
        return shown
    if len(stated) == 1:
        return shown
    return shown._replace(pieces=_union(stated))


def _is_argument(variable: Variable) -> bool:
    pieces = variable.pieces
    return (
        pieces is not None
        and len(pieces) == 1
        and _POSITIONAL.fullmatch(pieces[0].text) is not None
    )


def _key(variable: Variable) -> tuple[object, ...] | None:
    if variable.pieces is None:
        return None
    return (variable.array, *[(one.text, one.resolved) for one in variable.pieces])


def _union(variables: Sequence[Variable]) -> tuple[Piece, ...] | None:
    """The words that all alternatives share, and between them all others, unsure.

    Only lists of options may be united so: the others are told apart by their flags.
    """
    lists: list[Sequence[Piece]] = []
    for one in variables:
        if one.pieces is None or one.array is not variables[0].array:
            return None
        if one.array:
            lists.append(one.pieces)
            continue
        text = "".join([piece.text for piece in one.pieces])
        if text.strip() and not _OPTION.search(text):
            return None
        lists.append([word for piece in one.pieces for word in words_of(piece)])
    united = _unite(lists)
    if variables[0].array:
        return tuple(united)
    return tuple([piece for word in united for piece in (word, BLANK)])


def _unite(lists: Sequence[Sequence[Piece]]) -> list[Piece]:
    shortest = min(len(one) for one in lists)
    first = lists[0]
    head = 0
    while head < shortest and all(_same(one[head], first[head]) for one in lists):
        head += 1
    tail = 0
    while tail < shortest - head and all(
        _same(one[-1 - tail], first[-1 - tail]) for one in lists
    ):
        tail += 1
    united = list(first[:head])
    for one in lists:
        middle = one[head : len(one) - tail]
        united += [piece._replace(resolved=False) for piece in middle]
    return united + list(first[len(first) - tail :])


def _same(left: Piece, right: Piece) -> bool:
    return left.text == right.text and left.resolved == right.resolved
