"""Simple commands of a shell script: words, assignments, redirections."""

import re
from collections.abc import Callable

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.scripts.static_shell.lexer import (
    MAX_UNCLOSED,
    Lexer,
    document_end,
)
from speccheck.validator.sources.scripts.static_shell.pieces import Origins
from speccheck.validator.sources.scripts.static_shell.syntax import (
    AssignmentSyntax,
    Simple,
    WordSyntax,
)

_MAX_REPORTS = 20
_NAME = r"[A-Za-z_][A-Za-z_0-9]*"

GAP = lazy_pattern(r"(?:[ \t\n]+|\\\n|;(?!;)|&(?!>)|#[^\n]*)*")
LINES = lazy_pattern(r"(?:[ \t\n]+|\\\n|#[^\n]*)*")
BLANKS = lazy_pattern(r"(?:[ \t]+|\\\n)*")
_REST_OF_LINE = lazy_pattern(r"(?:[ \t]+|\\\n|;(?!;)|&(?!>)|#[^\n]*)*")
_PLAIN_WORD = lazy_pattern(
    r"(?:[ \t]|\\\n)*+([^ \t\n'\"\\$`;&|<>()#][^ \t\n'\"\\$`;&|<>()]*+)(?=[ \t\n;)]|$)"
)
_ASSIGNMENT = lazy_pattern(rf"({_NAME})(?:\[([^]\n]*)\])?(\+?)=")
_REDIRECTION = lazy_pattern(
    rf"(?:[0-9]+|\{{{_NAME}\}})?(<<<|<<-?|<>|<&|>>|>&|>\||<(?!\()|>(?!\())|&>>?"
)
_STATEMENT_LINE = lazy_pattern(r"^[A-Za-z_]", re.MULTILINE)
_QUOTES = lazy_pattern(r"['\"\\]")
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})


class _Pending(Record):
    """A here-document whose text begins on the next line."""

    delimiter: str
    tabs: bool
    quoted: bool
    documents: list[WordSyntax]
    start: int


class CommandParser(Lexer):
    """Reads simple commands."""

    def __init__(
        self,
        text: str,
        report: Callable[[str, int], None],
        origins: Origins | None = None,
    ) -> None:
        super().__init__(text, report, origins)
        self._pending: list[_Pending] = []
        self._refused = 0

    def refuse(self, message: str, position: int) -> None:
        """Note what a shell would not accept."""
        self._refused += 1
        if self._refused <= _MAX_REPORTS:
            self.report(message, position)

    def skip(self, pattern: re.Pattern[str]) -> None:
        """Go past what a pattern matches."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()

    def gap(self, pattern: re.Pattern[str] = GAP) -> None:
        """Go past blanks, comments, ends of lines and the here-documents after them."""
        while self._pending:
            self.skip(_REST_OF_LINE)
            if self.position < self.size and self.text[self.position] != "\n":
                return
            self.position += 1
            pending, self._pending = self._pending, []
            for one in pending:
                self._read_document(one)
        self.skip(pattern)

    def _read_document(self, pending: _Pending) -> None:
        start = min(self.position, self.size)
        end = document_end(self.text, start, pending.delimiter, tabs=pending.tabs)
        if end < 0:
            message = f"no line ends the here-document with {pending.delimiter!r}"
            self.refuse(message, pending.start)
            end = self.position = self.size
        else:
            self.position = end + len(pending.delimiter)
        word = self.plain(start, end) if pending.quoted else self.data(start, end)
        pending.documents.append(word)

    def simple(self) -> Simple | None:
        """The simple command at the position, or None where none begins."""
        text = self.text
        start = self.position
        words: list[WordSyntax] = []
        assignments: list[AssignmentSyntax] = []
        documents: list[WordSyntax] = []
        takes_assignments = True
        while True:
            if not takes_assignments:
                self._plain_words(words)
            self.skip(BLANKS)
            position = self.position
            if position >= self.size or text[position] in "\n;|()#":
                break
            if redirection := _REDIRECTION.match(text, position):
                self._redirection(redirection, documents)
                continue
            if takes_assignments and (found := _ASSIGNMENT.match(text, position)):
                assignments.append(self._assignment(found))
                continue
            word = self.word()
            if word is None:
                break
            words.append(word)
            if len(words) == 1:
                takes_assignments = word.text in _DECLARATIONS
        if self.position == start:
            return None
        offset = self.place(start, start)[0]
        return Simple(tuple(assignments), tuple(words), documents, offset)

    def _plain_words(self, words: list[WordSyntax]) -> None:
        """Read the words up to the first that is not plain: most words are."""
        match = _PLAIN_WORD.match(self.text, self.position)
        while match is not None:
            words.append(self.plain(*match.span(1)))
            self.position = match.end()
            match = _PLAIN_WORD.match(self.text, self.position)

    def redirections(self) -> None:
        """Go past the redirections after a compound command."""
        self.skip(BLANKS)
        while found := _REDIRECTION.match(self.text, self.position):
            self._redirection(found, [])
            self.skip(BLANKS)

    def _redirection(self, match: re.Match[str], documents: list[WordSyntax]) -> None:
        start = self.position = match.end()
        self.skip(BLANKS)
        first = self.position
        self.word()
        if match[1] in {"<<", "<<-"}:
            written = self.text[first : self.position]
            delimiter = _QUOTES.sub("", written)
            quoted = delimiter != written
            self._pending.append(
                _Pending(delimiter, match[1] == "<<-", quoted, documents, start)
            )

    def _assignment(self, match: re.Match[str]) -> AssignmentSyntax:
        start = self.position
        name, index, append = match.groups()
        self.position = match.end()
        elements: tuple[WordSyntax, ...] | None = None
        if self.text.startswith("(", self.position):
            first = self.position
            elements = self._array()
            value = WordSyntax("", *self.place(first, self.position))
        else:
            value = self.word() or self.plain(match.end(), match.end())
        offset = self.place(start, start)[0]
        return AssignmentSyntax(name, index, bool(append), value, elements, offset)

    def _array(self) -> tuple[WordSyntax, ...]:
        """The elements of an array, from its opening to its closing bracket."""
        text = self.text
        start = self.position
        self.position += 1
        elements: list[WordSyntax] = []
        positions: list[int] = []
        while True:
            self.gap(LINES)
            position = self.position
            char = text[position : position + 1]
            if char == ")":
                self.position += 1
                return tuple(elements)
            if char in {"", "("} and self.unclosed < MAX_UNCLOSED:
                return self._unclosed_array(start, elements, positions)
            word = self.word() if char else None
            if word is not None:
                positions.append(position)
                elements.append(word)
            elif char:
                self.refuse(f"unexpected {char!r} in an array", position)
                self.position += 1
            else:
                return tuple(elements)

    def _unclosed_array(
        self, start: int, elements: list[WordSyntax], positions: list[int]
    ) -> tuple[WordSyntax, ...]:
        """Take an array that nothing closes to end before the next statement."""
        self.unclosed += 1
        self.refuse("the array that opens here is not closed", start)
        match = _STATEMENT_LINE.search(self.text, start)
        self.position = self.size if match is None else match.start()
        kept = sum(1 for position in positions if position < self.position)
        return tuple(elements[:kept])
