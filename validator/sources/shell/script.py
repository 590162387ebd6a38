"""A static reader of shell scripts: bash, sh, sbatch and environment files.

Nothing of a script is ever run. It is read as a shell would read it, and what only a
running shell could know (the output of commands, files, the environment) is unknown.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

if TYPE_CHECKING:
    from speccheck.validator.sources.shell.syntax import TextSpan


class ShellWord(Record):
    """One argument after expansion.

    text: the expanded text; a part that could not be resolved stands as `${NAME}`,
        `$(...)` or `$((...))`.
    line, column, length: where the word is written, from 1, in characters. A word that
        is whole the value of a variable or an element of an array stands where that
        value is defined; one that was joined from several stands where it was joined.
    resolved: False when a part is unknown, or when the word is there only if a
        condition holds that cannot be decided from the text.
    raw: the text at that place.
    file: where it is written, when that is a file which the script takes in.
    only_if: the condition under which it is so, in words: "NNODES is not set"; empty
        where it holds in any case.
    """

    text: str
    line: int
    column: int
    length: int
    resolved: bool
    raw: str
    only_if: str = ""
    file: str = ""


class ShellAssignment(Record):
    """`NAME=value`, with the place of the name.

    conditional: it stands in a branch that may not be taken, or in a function that the
        script does not call.
    """

    name: str
    value: ShellWord
    exported: bool
    line: int
    column: int
    conditional: bool = False


class ShellCommand(Record):
    """A simple command with its arguments.

    environment: the variables given to this command alone: `A=1 cmd`, `env A=1 cmd`,
        `srun --export=ALL,A=1`, `mpirun -x A=1`, `docker run -e A=1`.
    conditional: as for an assignment.
    outer: the command whose argument held this one: `srun ... bash -c '...'`.
    """

    words: tuple[ShellWord, ...]
    environment: tuple[ShellAssignment, ...]
    line: int
    conditional: bool = False
    outer: "ShellCommand | None" = None


class Directive(Record):
    """An option of an `#SBATCH` line, by its long name: `--nodes`, also for `-N`.

    stray: words behind the value that belong to no option: sbatch stops on them.
    """

    name: str
    value: str
    line: int
    column: int
    length: int
    stray: str = ""


class ScriptProblem(Record):
    """Syntax that a shell would refuse, or that does not do what it seems to."""

    message: str
    line: int


class TakenFile(Record):
    """A file that a script takes in: its path and its text."""

    path: str
    text: str


class UnseenSource(Record):
    """Something that a script takes in and that could not be read.

    what: it, as a clause. target: the path of a file. word: where it is named.
    """

    what: str
    target: str
    word: ShellWord | None


class Script(Record):
    """A shell script as far as it can be read without running it.

    assignments: all that may take effect, in the order of the script.
    variables: the value of each name at the end; `${NAME}`, not resolved, where it
        depends on a condition that cannot be decided.
    exports: those of the variables that a started program sees.
    taken: the files that were read in the place where it takes them in.
    unseen: what it takes in besides.
    written: the files that it writes itself, as far as their names are known.
    """

    directives: tuple[Directive, ...]
    commands: tuple[ShellCommand, ...]
    assignments: tuple[ShellAssignment, ...]
    variables: Mapping[str, ShellAssignment]
    exports: Mapping[str, ShellAssignment]
    problems: tuple[ScriptProblem, ...]
    taken: tuple[TakenFile, ...] = ()
    unseen: tuple[UnseenSource, ...] = ()
    written: tuple[str, ...] = ()


class Lines:
    """Turns offsets in a text into lines and columns, both from 1.

    The texts of files that a script takes in lie behind its own, each with offsets from
    where the one before it ends.
    """

    __slots__ = ("_bases", "_starts", "_templates", "_texts", "name", "text")

    def __init__(self, text: str, name: str = "") -> None:
        """Take the text of a script, and what messages call it."""
        self.text = text
        self.name = name
        self._starts = _line_starts(text)
        self._texts: list[tuple[str, str, list[int]]] = [("", text, self._starts)]
        self._bases = [0]
        self._templates: frozenset[int] | None = None

    def add(self, path: str, text: str) -> int:
        """Take in the text of another file; return its first offset."""
        base = self._bases[-1] + len(self._texts[-1][1]) + 2
        self._bases.append(base)
        self._texts.append((path, text, _line_starts(text)))
        return base

    def is_own(self, offset: int) -> bool:
        """Return whether an offset lies in the script itself."""
        return len(self._bases) == 1 or offset < self._bases[1]

    def line(self, offset: int) -> int:
        """Return the line of an offset."""
        return self.position(offset)[0]

    def is_template(self, offset: int) -> bool:
        """Return whether a comment asks the reader to change the text at an offset."""
        if not self.is_own(offset):
            return False
        if self._templates is None:
            self._templates = frozenset(_template_lines(self.text))
        return self.line(offset) in self._templates

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset."""
        starts = self._starts
        if len(self._bases) > 1:
            number = bisect_right(self._bases, offset) - 1
            offset -= self._bases[number]
            starts = self._texts[number][2]
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and a column of the script itself."""
        return self._starts[min(line, len(self._starts)) - 1] + column - 1

    def written(self, start: int, end: int) -> str:
        """Return the text from one offset to another."""
        if self.is_own(start):
            return self.text[start:end]
        number = bisect_right(self._bases, start) - 1
        base = self._bases[number]
        return self._texts[number][1][start - base : end - base]

    def word(self, span: "TextSpan") -> ShellWord:
        """Return the word that a span makes."""
        text, start, end, resolved, only_if = span
        line, column = self.position(start)
        raw = self.written(start, end)
        file = ""
        if not self.is_own(start):
            file = self._texts[bisect_right(self._bases, start) - 1][0]
        length = end - start
        return ShellWord(text, line, column, length, resolved, raw, only_if, file)


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in text.split("\n"))]


def _template_lines(text: str) -> Iterator[int]:
    """Yield the lines, from 1, whose values a comment asks the reader to change.

    A comment of its own speaks of the lines below it, up to a blank line or the next
    comment.
    """
    if _ASKS_FOR_CHANGE.search(text) is None:
        return
    asks = False
    was_comment = False
    for number, line in enumerate(text.split("\n"), start=1):
        code, mark, comment = line.partition("#")
        is_comment = bool(mark) and not code.strip()
        if is_comment:
            asks = (asks and was_comment) or bool(_ASKS_FOR_CHANGE.search(comment))
        elif not line.strip():
            asks = False
        elif asks or (mark and _ASKS_FOR_CHANGE.search(comment)):
            yield number
        was_comment = is_comment


SOURCING = frozenset({"source", "."})
# Scripts that people write have some kilobytes; one of this size is data.
MAX_CHARACTERS = 300_000

# "Change for multinode config", "adjust to your cluster", "modify these as needed".
_ASKS_FOR_CHANGE = lazy_pattern(
    r"\b(?:adjust|change|customi[sz]e|edit|modify|update)\b[^.\n]{0,40}?"
    r"\b(?:accordingly|multi-?node|necessary|needed|these|this|your)\b",
    re.IGNORECASE,
)
_NUMBER = lazy_pattern(r"-\.?[0-9]")

Option = tuple[str, tuple[ShellWord, ...], ShellWord]
"""A flag, its values, and the word that holds the flag."""


def with_unix_lines(text: str) -> str:
    """Return the text with blanks for carriage returns, so that places hold."""
    if "\r" not in text:
        return text
    return text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")


def options(words: Sequence[ShellWord]) -> tuple[Option, ...]:
    """Return the options among the words of a command.

    Which flags take a value is not known here: a flag is given all words up to the
    next one. Words before the first flag are omitted. `-1` and `-5e-3` are values;
    `--` is neither.
    """
    text_lists: list[Option] = []
    flag: ShellWord | None = None
    name = ""
    values: list[ShellWord] = []
    for word in words:
        text = word.text
        if not text.startswith("-") or text == "-" or _NUMBER.match(text):
            values.append(word)
            continue
        if flag is not None:
            text_lists.append((name, tuple(values), flag))
        flag, values = (None, []) if text == "--" else (word, [])
        name = text
        if text.startswith("--") and "=" in text:
            name = text.partition("=")[0]
            values = [_value_of(word, len(name) + 1)]
    if flag is not None:
        text_lists.append((name, tuple(values), flag))
    return tuple(text_lists)


def _value_of(word: ShellWord, length: int) -> ShellWord:
    """Return the word after the first characters `--flag=` of another."""
    text = word.text[length:]
    if word.raw[:length] != word.text[:length]:
        return word._replace(text=text)
    return ShellWord(
        text,
        word.line,
        word.column + length,
        word.length - length,
        word.resolved,
        word.raw[length:],
        word.only_if,
        word.file,
    )
