"""What a shell script consists of, as it is written; offsets are those of the file.

Below the syntax of words and statements, spans: text together with the place where it
is written, which expansions carry along.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
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


class TextSpan(Record):
    """Text, and the offsets in the file where it is written.

    Attributes:
        text: after expansion.
        start: offset of its first character.
        end: offset behind its last one.
        resolved: no part of it is unknown.
        only_if: the condition under which a script gives it, in words: "NNODES is not
            set"; empty for what holds in any case.

    """

    text: str
    start: int
    end: int
    resolved: bool
    only_if: str = ""


class PlacedSpan(Record):
    """A span, and the offsets where a word or a value takes it in.

    The two differ for what an expansion brings: `$PORT` stands at the site, its value
    where the variable is defined.
    """

    span: TextSpan
    start: int
    end: int


BLANK = TextSpan(" ", 0, 0, resolved=True)


def cut(span: TextSpan, first: int, last: int) -> TextSpan:
    """Return a part of a span, at its own place where the text is the written one."""
    text, start, end, resolved, only_if = span
    if end - start != len(text):
        return TextSpan(text[first:last], start, end, resolved, only_if)
    return TextSpan(text[first:last], start + first, start + last, resolved, only_if)


def words_of(span: TextSpan) -> list[TextSpan]:
    """Return the words of a span, split at blanks."""
    if BLANKS.search(span.text) is None:
        return [span] if span.text else []
    return [
        cut(span, match.start(), match.end())
        for match in _RUNS.finditer(span.text)
        if not match[0].isspace()
    ]


def join(placed: Sequence[PlacedSpan], start: int, end: int) -> TextSpan:
    """Return one span of several, from start to end unless it is a single one."""
    if len(placed) == 1:
        return placed[0].span
    text = "".join([placed_span.span.text for placed_span in placed])
    if len(text) > MAX_WORD_CHARACTERS:
        return TextSpan(text[:80] + "${...}", start, end, resolved=False)
    spans = [placed_span.span for placed_span in placed]
    resolved = all(span.resolved for span in spans)
    return TextSpan(text, start, end, resolved, condition_of(spans))


def condition_of(spans: Iterable[TextSpan]) -> str:
    """Return the condition of the first span that has one."""
    return next(filter(None, (span.only_if for span in spans)), "")


def coalesce(
    placed: Sequence[PlacedSpan], gaps: re.Pattern[str] = BLANKS
) -> tuple[TextSpan, ...]:
    """Return the spans of a value, such that each of its words lies within one span.

    What an expansion and its neighbours form together is written in this value, and no
    place but this one shows it. `gaps` are what stands between words.
    """
    if len(placed) == 1 or _is_coalesced(placed):
        return tuple([placed_span.span for placed_span in placed])
    spans: list[TextSpan] = []
    run: list[PlacedSpan] = []
    for placed_span in placed:
        text = placed_span.span.text
        breaks = [match.span() for match in gaps.finditer(text)]
        if not breaks:
            run.append(placed_span)
            continue
        first, last = breaks[0][0], breaks[-1][1]
        if first:
            run.append(
                PlacedSpan(
                    cut(placed_span.span, 0, first), placed_span.start, placed_span.end
                )
            )
        _flush(run, spans)
        spans.append(cut(placed_span.span, first, last))
        if last < len(text):
            rest = cut(placed_span.span, last, len(text))
            start = (
                rest.start
                if placed_span.start == placed_span.span.start
                else placed_span.start
            )
            run.append(PlacedSpan(rest, start, placed_span.end))
    _flush(run, spans)
    return tuple(spans)


def _is_coalesced(placed: Sequence[PlacedSpan]) -> bool:
    """Return whether all is written right here, with blanks where two spans meet."""
    ends_blank = True
    for (text, start, end, *_), placed_start, placed_end in placed:
        if start != placed_start or end != placed_end:
            return False
        if text:
            if not ends_blank and text[0] not in " \t\n":
                return False
            ends_blank = text[-1] in " \t\n"
    return True


def _flush(run: list[PlacedSpan], spans: list[TextSpan]) -> None:
    if run:
        spans.append(join(run, *extent_of(run)))
        run.clear()


def extent_of(placed: Sequence[PlacedSpan]) -> tuple[int, int]:
    """Return the offsets from the first to the last of several spans."""
    first, last = placed[0], placed[-1]
    # What an inner script joins may come from places in any order.
    return first.start, last.end if last.start >= first.end else first.end


class Origins:
    """Where the characters of a text that an expansion gave are written."""

    __slots__ = ("_spans", "_starts")

    def __init__(self, spans: Sequence[TextSpan]) -> None:
        self._spans = spans or (BLANK,)
        self._starts = [0, *accumulate(len(span.text) for span in self._spans)]

    def cut(self, start: int, end: int) -> list[TextSpan]:
        """Return the spans that a range of the text consists of."""
        at = min(bisect_right(self._starts, start) - 1, len(self._spans) - 1)
        text_spans: list[TextSpan] = []
        while at < len(self._spans) and (self._starts[at] < end or not text_spans):
            span, offset = self._spans[at], self._starts[at]
            stop = min(end - offset, len(span.text))
            text_spans.append(cut(span, max(start - offset, 0), stop))
            at += 1
        return text_spans

    def locate(self, start: int, end: int) -> tuple[int, int, bool, str]:
        """Return offsets in the file of a range, whether it is sure, its condition."""
        last_span = len(self._spans) - 1
        first = min(bisect_right(self._starts, start) - 1, last_span)
        last = min(max(bisect_right(self._starts, end - 1) - 1, first), last_span)
        span = self._spans[first]
        offset = self._starts[first]
        head = cut(span, start - offset, min(end - offset, len(span.text)))
        if first == last:
            return head[1:]
        tail = self._spans[last]
        spans = self._spans[first : last + 1]
        sure = all(span.resolved for span in spans)
        stop = cut(tail, 0, end - self._starts[last]).end
        stop = max(head.end, stop if tail.start >= span.end else 0)
        return head.start, stop, sure, condition_of(spans)


class Literal(Record):
    """Characters that stand for themselves."""

    text: str
    start: int
    end: int
    quoted: bool
    resolved: bool
    only_if: str = ""


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


class Printed(Record):
    """A substitution that only prints its words: `$(echo "$ARGS" | xargs)`.

    keeps_lines: the ends of lines stay, as of `$(cat <<EOF ...)`.
    """

    words: "WordSyntax"
    start: int
    end: int
    quoted: bool
    keeps_lines: bool = False


Part = Literal | Parameter | Arithmetic | Opaque | Printed


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
    """A simple command.

    documents: the here-documents that it reads. outputs: the files that it writes.
    """

    assignments: tuple[AssignmentSyntax, ...]
    words: tuple[WordSyntax, ...]
    documents: list[WordSyntax]
    start: int
    outputs: tuple[WordSyntax, ...] = ()


class AndOr(Record):
    """Statements joined by `&&` and `||`."""

    first: "Statement"
    rest: "tuple[tuple[str, Statement], ...]"


class Pipeline(Record):
    """Statements joined by `|`, or one with `!` in front."""

    parts: "tuple[Statement, ...]"
    negated: bool


class CommandGroup(Record):
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
    | CommandGroup
    | If
    | For
    | While
    | Case
    | Function
    | Test
    | Calculation
)
Block = tuple[Statement, ...]
