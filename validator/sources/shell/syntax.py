"""What a shell script consists of, as it is written; offsets are those of the file."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

# No option, path or number of a real script is longer; what a script builds by
# doubling a variable is.
MAX_WORD_CHARACTERS = 65_536

_RUNS = lazy_pattern(r"[ \t\n]+|[^ \t\n]+")
BLANKS = lazy_pattern(r"[ \t\n]+")
# In a script, quotes too are no part of the words.
BLANKS_AND_QUOTES = lazy_pattern(r"[ \t\n'\"]+")


class Piece(Record):
    """Text, the offsets in the file where it is written, and whether it is sure."""

    text: str
    start: int
    end: int
    resolved: bool


class Sited(Record):
    """A piece, and the offsets where a word or a value takes it in.

    The two differ for what an expansion brings: `$PORT` stands at the site, its value
    where the variable is defined.
    """

    piece: Piece
    start: int
    end: int


BLANK = Piece(" ", 0, 0, resolved=True)


def cut(piece: Piece, first: int, last: int) -> Piece:
    """A part of a piece, at its own place where the text is the written one."""
    text, start, end, resolved = piece
    if end - start != len(text):
        return Piece(text[first:last], start, end, resolved)
    return Piece(text[first:last], start + first, start + last, resolved)


def words_of(piece: Piece) -> list[Piece]:
    """The words of a piece, split at blanks."""
    if BLANKS.search(piece.text) is None:
        return [piece] if piece.text else []
    return [
        cut(piece, match.start(), match.end())
        for match in _RUNS.finditer(piece.text)
        if not match[0].isspace()
    ]


def join(sited: Sequence[Sited], start: int, end: int) -> Piece:
    """One piece of several; it stands from start to end unless it is a single one."""
    if len(sited) == 1:
        return sited[0].piece
    text = "".join([one.piece.text for one in sited])
    if len(text) > MAX_WORD_CHARACTERS:
        return Piece(text[:80] + "${...}", start, end, resolved=False)
    return Piece(text, start, end, all(one.piece.resolved for one in sited))


def settle(sited: Sequence[Sited], gaps: re.Pattern[str] = BLANKS) -> tuple[Piece, ...]:
    """The pieces of a value, such that each of its words lies within one piece.

    What an expansion and its neighbours form together is written in this value, and no
    place but this one shows it. `gaps` are what stands between words.
    """
    if len(sited) == 1 or _is_settled(sited):
        return tuple([one.piece for one in sited])
    pieces: list[Piece] = []
    run: list[Sited] = []
    for one in sited:
        text = one.piece.text
        spans = [match.span() for match in gaps.finditer(text)]
        if not spans:
            run.append(one)
            continue
        first, last = spans[0][0], spans[-1][1]
        if first:
            run.append(Sited(cut(one.piece, 0, first), one.start, one.end))
        _flush(run, pieces)
        pieces.append(cut(one.piece, first, last))
        if last < len(text):
            rest = cut(one.piece, last, len(text))
            start = rest.start if one.start == one.piece.start else one.start
            run.append(Sited(rest, start, one.end))
    _flush(run, pieces)
    return tuple(pieces)


def _is_settled(sited: Sequence[Sited]) -> bool:
    """Whether all is written right here, with blanks where two pieces meet."""
    ends_blank = True
    for (text, start, end, _), site_start, site_end in sited:
        if start != site_start or end != site_end:
            return False
        if text:
            if not ends_blank and text[0] not in " \t\n":
                return False
            ends_blank = text[-1] in " \t\n"
    return True


def _flush(run: list[Sited], pieces: list[Piece]) -> None:
    if run:
        pieces.append(join(run, *site_of(run)))
        run.clear()


def site_of(sited: Sequence[Sited]) -> tuple[int, int]:
    """The offsets from the first to the last of several pieces."""
    first, last = sited[0], sited[-1]
    # What an inner script joins may come from places in any order.
    return first.start, last.end if last.start >= first.end else first.end


class Origins:
    """Where the characters of a text that an expansion gave are written."""

    __slots__ = ("_pieces", "_starts")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces or (BLANK,)
        self._starts = [0, *accumulate(len(piece.text) for piece in self._pieces)]

    def cut(self, start: int, end: int) -> list[Piece]:
        """The pieces that a range of the text consists of."""
        at = min(bisect_right(self._starts, start) - 1, len(self._pieces) - 1)
        found: list[Piece] = []
        while at < len(self._pieces) and (self._starts[at] < end or not found):
            piece, offset = self._pieces[at], self._starts[at]
            stop = min(end - offset, len(piece.text))
            found.append(cut(piece, max(start - offset, 0), stop))
            at += 1
        return found

    def locate(self, start: int, end: int) -> tuple[int, int, bool]:
        """The offsets in the file of a range of the text, and whether it is sure."""
        last_piece = len(self._pieces) - 1
        first = min(bisect_right(self._starts, start) - 1, last_piece)
        last = min(max(bisect_right(self._starts, end - 1) - 1, first), last_piece)
        piece = self._pieces[first]
        offset = self._starts[first]
        head = cut(piece, start - offset, min(end - offset, len(piece.text)))
        if first == last:
            return head[1:]
        tail = self._pieces[last]
        sure = all(one.resolved for one in self._pieces[first : last + 1])
        stop = cut(tail, 0, end - self._starts[last]).end
        return head.start, max(head.end, stop if tail.start >= piece.end else 0), sure


class Literal(Record):
    """Characters that stand for themselves."""

    text: str
    start: int
    end: int
    quoted: bool
    resolved: bool


class Parameter(Record):
    """`$NAME`, `${NAME[subscript]}` or `${NAME<operator>argument}`."""

    name: str
    subscript: str
    operator: str
    argument: "tuple[Part, ...]"
    start: int
    end: int
    quoted: bool


class Arithmetic(Record):
    """`$((expression))`."""

    expression: "tuple[Part, ...]"
    start: int
    end: int
    quoted: bool


class Opaque(Record):
    """An expansion that only a shell could do; `text` stands for it, without blanks."""

    text: str
    start: int
    end: int
    quoted: bool


Part = Literal | Parameter | Arithmetic | Opaque


class WordSyntax(Record):
    """A word as written; `parts` is empty when `text` is all that there is to it."""

    text: str
    start: int
    end: int
    parts: tuple[Part, ...] = ()


class AssignmentSyntax(Record):
    """`NAME=value`, `NAME+=value` or `NAME=( ... )`; elements is None for no array."""

    name: str
    subscript: str | None
    append: bool
    value: WordSyntax
    elements: tuple[WordSyntax, ...] | None
    start: int


class Simple(Record):
    """A simple command; documents are the here-documents that it reads."""

    assignments: tuple[AssignmentSyntax, ...]
    words: tuple[WordSyntax, ...]
    documents: list[WordSyntax]
    start: int


class AndOr(Record):
    """Statements joined by `&&` and `||`."""

    first: "Statement"
    rest: "tuple[tuple[str, Statement], ...]"


class Pipeline(Record):
    """Statements joined by `|`, or one with `!` in front."""

    parts: "tuple[Statement, ...]"
    negated: bool


class Group(Record):
    """`{ ...; }`, or `( ... )` that keeps its variables to itself."""

    body: "Block"
    subshell: bool


class If(Record):
    """Conditions with what follows each, and what follows when none holds."""

    arms: "tuple[tuple[Block, Block], ...]"
    otherwise: "Block"


class For(Record):
    """A `for` or `select` loop; words is None where they are not written out."""

    name: str
    words: tuple[WordSyntax, ...] | None
    body: "Block"
    place: tuple[int, int]


class While(Record):
    """A `while` or `until` loop."""

    condition: "Block"
    body: "Block"
    until: bool


class Case(Record):
    """Patterns, with what follows each."""

    subject: WordSyntax
    arms: "tuple[tuple[tuple[WordSyntax, ...], Block], ...]"


class Function(Record):
    """The definition of a function."""

    name: str
    body: "Block"


class Test(Record):
    """`[[ ... ]]`."""

    words: tuple[WordSyntax, ...]


class Calculation(Record):
    """`(( ... ))`."""

    expression: WordSyntax


Statement = (
    Simple
    | AndOr
    | Pipeline
    | Group
    | If
    | For
    | While
    | Case
    | Function
    | Test
    | Calculation
)
Block = tuple[Statement, ...]
