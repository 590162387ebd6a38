"""Words and statements of a shell script as they are written, nothing run.

The grammar is that of bash(1), sections QUOTING, EXPANSION and SHELL GRAMMAR. All is
read in one pass; what is opened and never closed ends at its line, a bounded number of
times. What a shell would refuse is noted and passed over.
"""

import re
from collections.abc import Callable, Mapping
from typing import ClassVar

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.shell.syntax import (
    AndOr,
    Arithmetic,
    AssignmentSyntax,
    Block,
    Calculation,
    Case,
    CommandGroup,
    For,
    Function,
    If,
    Literal,
    Opaque,
    Origins,
    Parameter,
    Part,
    Pipeline,
    Printed,
    Simple,
    Statement,
    Test,
    While,
    WordSyntax,
)

# After so many quotes or brackets that nothing closes, openers are plain characters:
# each of them costs a search to the end of the text.
MAX_UNCLOSED = 5
# The longest substitution that is looked for: no script has one of this length.
_MAX_SPAN = 65_536
_MAX_DEPTH = 16

Mode = tuple[Callable[[str, int, int], re.Match[str] | None], bool]
"""How to find a run of plain characters, and whether these are quoted."""

_BARE: Mode = (re.compile(r"[^ \t\n'\"\\$`;&|<>()]+").match, False)
_DOUBLE: Mode = (re.compile(r'[^"\\$`]+').match, True)
_ARGUMENT: Mode = (re.compile(r"[^'\"\\$`}]+").match, False)
_QUOTED_ARGUMENT: Mode = (re.compile(r'[^"\\$`}]+').match, True)
_DATA: Mode = (re.compile(r"[^\\$`]+").match, True)

_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
_SIMPLE = lazy_pattern(
    rf"\$(?:({_NAME}|[0-9@*#?$!_-])|\{{({_NAME}|[0-9]+|[@*])(?:\[([^]\n]*)\])?\}})"
)
_OPERATOR = lazy_pattern(
    rf"\$\{{({_NAME}|[0-9]+|[@*])(?:\[([^]\n]*)\])?(:?[-=+?])", re.ASCII
)
_ANSI = lazy_pattern(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACKTICKS = lazy_pattern(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_BLANK_LINE_END = lazy_pattern(r"[ \t]+(?:#[^\n]*)?(?:\n|$)")
_SUBSTITUTION = {
    "(": lazy_pattern(r"[\\'\"`()]|\$[({]|(?<=[\s;(])#|<<-?[ \t]*['\"\\]?[A-Za-z_]"),
    '"': lazy_pattern(r'[\\"`]|\$[({]'),
    "{": lazy_pattern(r"[\\'\"`}]|\$[({]"),
}
_HEREDOC = lazy_pattern(rf"<<(-?)[ \t]*['\"\\]?({_NAME})['\"]?")
_ESCAPE = lazy_pattern(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b"}
_MAX_REPORTS = 20

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
# `$(echo "$ARGS" | tr '\\n' ' ' | sed 's/  \\+/ /g')` prints its words on one line.
_ECHO = lazy_pattern(r"[ \t\n]*echo[ \t]+(?:-n[ \t]+)?(?!-)")
_CAT = lazy_pattern(rf"[ \t\n]*cat[ \t]*<<(-?)[ \t]*(['\"\\]?)({_NAME})['\"]?[ \t]*\n")
_OF_BLANKS = lazy_pattern(
    r"(?:[ \t\n]*\|[ \t]*(?:tr[ \t]+(?:-s[ \t]+)?'(?:\\n| )+'(?:[ \t]+' ')?"
    r"|sed[ \t]+(?:-[Er][ \t]+)?'s/ +\\?[+*]?/ /g'|xargs))*[ \t\n]*"
)
_QUOTES = lazy_pattern(r"['\"\\]")
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_MAX_NESTING = 40
_KEYWORD = lazy_pattern(
    r"(?:if|then|else|elif|fi|for|select|while|until|do|done|case|esac|function|time"
    r"|coproc|\{|\}|!|\[\[)(?=[ \t\n;&|()<>]|\\\n|$)"
)
_PREFIXES = frozenset({"!", "time", "coproc"})
_CLOSERS = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_AND_OR = lazy_pattern(r"(?:[ \t]|\\\n)*(&&|\|\|)")
_PIPE = lazy_pattern(r"(?:[ \t]|\\\n)*\|&?(?!\|)")
_NO_ARGUMENTS = lazy_pattern(r"[ \t]*\([ \t\n]*\)")
_IN = lazy_pattern(r"in(?=[ \t\n;]|$)")
_CASE_END = lazy_pattern(r";;&|;;|;&")
_TEST_OPERATOR = lazy_pattern(r"&&|\|\||[&|;()<>]")
_PATTERN = lazy_pattern(r"(?:[^\s'\"\\]|\\.|'[^'\n]*'|\"[^\"\n]*\")+")


class _Pending(Record):
    """A here-document whose text begins on the next line."""

    delimiter: str
    tabs: bool
    quoted: bool
    documents: list[WordSyntax]
    start: int


class Parser:
    """Reads the statements of a script, or of a text that an expansion gave.

    Offsets in what it returns are those of the file: `origins` translates them where
    the text itself came out of an expansion.
    """

    def __init__(
        self,
        text: str,
        report: Callable[[str, int], None],
        origins: Origins | None = None,
    ) -> None:
        self.text = text
        self.size = len(text)
        self.position = 0
        self._report = report
        self._origins = origins
        self.unclosed = 0
        self._depth = 0  # of quotes and expansions inside each other
        self._nesting = 0  # of compound commands
        self._pending: list[_Pending] = []
        self._refused = 0

    def report(self, message: str, position: int) -> None:
        """Note a problem at a position of this text."""
        self._report(message, self.place(position, position)[0])

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the file of a range of this text."""
        if self._origins is None:
            return start, end
        return self._origins.locate(start, end)[:2]

    def plain(self, start: int, end: int) -> WordSyntax:
        """Return the word of the plain characters from start to end."""
        text = self.text[start:end]
        if self._origins is None:
            return WordSyntax(text, start, end)
        first, last, resolved, only_if = self._origins.locate(start, end)
        if resolved and not only_if:
            return WordSyntax(text, first, last)
        literal = Literal(
            text, first, last, quoted=False, resolved=resolved, only_if=only_if
        )
        return WordSyntax(text, first, last, (literal,))

    def word(self) -> WordSyntax | None:
        """Read the word at the position; None where none begins."""
        start = self.position
        match = _BARE[0](self.text, start, self.size)
        if match is not None:
            end = match.end()
            if end == self.size or self.text[end] in " \t\n;&|()":
                self.position = end
                return self.plain(start, end)
        parts: list[Part] = []
        end = self._scan(start, _BARE, parts, self.size)
        if end == start:
            return None
        self.position = end
        if len(parts) == 1 and end == (match.end() if match else -1):
            return self.plain(start, end)  # `a>file`
        return self._composite(start, end, parts)

    def data(self, start: int, end: int) -> WordSyntax:
        """Read the text of a here-document, in which variables are expanded."""
        parts: list[Part] = []
        self._scan(start, _DATA, parts, end)
        return self._composite(start, end, parts)

    def opaque(self, start: int, end: int) -> WordSyntax:
        """Return a word that is not looked into."""
        text = "".join(self.text[start:end].split())
        return self._composite(
            start, end, [Opaque(text, *self.place(start, end), quoted=True)]
        )

    def _composite(self, start: int, end: int, parts: list[Part]) -> WordSyntax:
        first, last = self.place(start, end)
        if not parts:  # a line continuation alone
            parts.append(Literal("", first, first, quoted=False, resolved=True))
        return WordSyntax("", first, last, tuple(parts))

    def _add(self, parts: list[Part], start: int, end: int, *, quoted: bool) -> None:
        """Add the characters from start to end, a literal for each of their origins."""
        if self._origins is None:
            text = self.text[start:end]
            parts.append(Literal(text, start, end, quoted, resolved=True))
            return
        for text, first, last, resolved, only_if in self._origins.cut(start, end):
            parts.append(Literal(text, first, last, quoted, resolved, only_if))

    def _scan(self, position: int, mode: Mode, parts: list[Part], end: int) -> int:
        """Add the parts from a position on; returns where they stop."""
        run, quoted = mode
        text = self.text
        while position < end:
            match = run(text, position, end)
            if match is not None:
                self._add(parts, position, match.end(), quoted=quoted)
                position = match.end()
                continue
            char = text[position]
            if char == "\\":
                position = self._escape(position, mode, parts)
            elif char in "$`":
                position = self._expansion(position, parts, quoted=quoted)
            elif char == "'" and not quoted:
                position = self._single(position, parts)
            elif char == '"' and mode is not _DOUBLE:
                position = self._double(position, parts)
            elif char in "<>" and mode is _BARE and text.startswith("(", position + 1):
                position = self._substitution(position, parts, quoted=False)
            else:
                return position
        return position

    def _escape(self, position: int, mode: Mode, parts: list[Part]) -> int:
        following = self.text[position + 1 : position + 2]
        if following == "\n":
            return position + 2
        if mode is _BARE and _BLANK_LINE_END.match(self.text, position + 1):
            message = "blanks after the backslash: the command ends on this line"
            self.report(message, position)
        kept = "$`\\" if mode is _DATA else '"$`\\'
        if not following or (mode[1] and following not in kept):
            self._add(parts, position, position + 1, quoted=mode[1])
            return position + 1
        first, last = self.place(position, position + 2)
        parts.append(Literal(following, first, last, quoted=True, resolved=True))
        return position + 2

    def _single(self, position: int, parts: list[Part]) -> int:
        end = -1
        if self.unclosed < MAX_UNCLOSED:
            end = self.text.find("'", position + 1)
        if end < 0:
            return self._never_closed(position, parts, "single quote")
        self._add(parts, position + 1, end, quoted=True)
        return end + 1

    def _double(self, position: int, parts: list[Part]) -> int:
        inner: list[Part] = []
        end = self.size
        if self.unclosed < MAX_UNCLOSED and self._depth < _MAX_DEPTH:
            self._depth += 1
            end = self._scan(position + 1, _DOUBLE, inner, self.size)
            self._depth -= 1
        if end >= self.size:
            return self._never_closed(position, parts, "double quote")
        if inner:
            parts.extend(inner)
        else:
            self._add(parts, position + 1, position + 1, quoted=True)
        return end + 1

    def _never_closed(self, position: int, parts: list[Part], what: str) -> int:
        """Take an unclosed quote to end with its line."""
        self.unclosed += 1
        if self.unclosed > MAX_UNCLOSED:
            self._add(parts, position, position + 1, quoted=True)
            return position + 1
        self.report(f"the {what} that opens here is not closed", position)
        end = self.text.find("\n", position)
        end = self.size if end < 0 else end
        self._add(parts, position + 1, end, quoted=True)
        return end

    def _expansion(self, position: int, parts: list[Part], *, quoted: bool) -> int:
        """Read what begins with a dollar sign or a backtick."""
        simple = _SIMPLE.match(self.text, position)
        if simple is not None:
            end = simple.end()
            name = simple[1] or simple[2]
            place = self.place(position, end)
            parts.append(Parameter(name, simple[3] or "", "", (), *place, quoted))
            return end
        following = self.text[position + 1 : position + 2]
        if self.text[position] == "`" or following == "(":
            return self._substitution(position, parts, quoted=quoted)
        if following == "{":
            return self._braces(position, parts, quoted=quoted)
        if following == "'" and not quoted and (ansi := self._ansi(position, parts)):
            return ansi
        if following == '"' and not quoted:
            return position + 1
        self._add(parts, position, position + 1, quoted=quoted)
        return position + 1

    def _ansi(self, position: int, parts: list[Part]) -> int:
        match = _ANSI.match(self.text, position)
        if match is None:
            return 0
        text = _ESCAPE.sub(_unescaped, match[1])
        place = self.place(match.start(1), match.end(1))
        parts.append(Literal(text, *place, quoted=True, resolved=True))
        return match.end()

    def _braces(self, position: int, parts: list[Part], *, quoted: bool) -> int:
        match = _OPERATOR.match(self.text, position)
        given_up = self._depth >= _MAX_DEPTH or self.unclosed >= MAX_UNCLOSED
        if match is None or given_up:
            return self._substitution(position, parts, quoted=quoted)
        argument: list[Part] = []
        mode = _QUOTED_ARGUMENT if quoted else _ARGUMENT
        self._depth += 1
        end = self._scan(match.end(), mode, argument, self.size)
        self._depth -= 1
        if end >= self.size:
            return self._substitution(position, parts, quoted=quoted)
        place = self.place(position, end + 1)
        parts.append(
            Parameter(
                match[1], match[2] or "", match[3], tuple(argument), *place, quoted
            )
        )
        return end + 1

    def _substitution(self, position: int, parts: list[Part], *, quoted: bool) -> int:
        """Read `$(...)`, backticks, `$((...))`, `<(...)` or braces as one part."""
        text = self.text
        end = self.closing(position)
        if end < 0:
            self.unclosed += 1
            if self.unclosed <= MAX_UNCLOSED:
                self.report("the expansion that opens here is not closed", position)
            self._add(parts, position, position + 1, quoted=quoted)
            return position + 1
        place = self.place(position, end)
        if text.startswith("$((", position) and text.startswith("))", end - 2):
            inner: list[Part] = []
            if self._depth < _MAX_DEPTH:
                self._depth += 1
                self._scan(position + 3, _DATA, inner, end - 2)
                self._depth -= 1
            parts.append(Arithmetic(tuple(inner), *place, quoted))
        elif text.startswith("${", position):
            parts.append(Opaque("".join(text[position:end].split()), *place, quoted))
        elif (words := self._printed(position + 2, end - 1)) is not None:
            parts.append(Printed(words, *place, quoted))
        elif (words := self._document_in(position + 2, end - 1)) is not None:
            parts.append(Printed(words, *place, quoted, keeps_lines=True))
        else:
            parts.append(Opaque("$(...)", *place, quoted))
        return end

    def _printed(self, start: int, end: int) -> WordSyntax | None:
        """Read `echo "..."` with filters behind it that change its blanks alone."""
        head = _ECHO.match(self.text, start, end)
        if head is None or self._depth >= _MAX_DEPTH:
            return None
        before, self.position = self.position, head.end()
        self._depth += 1
        word = self.word()
        self._depth -= 1
        after, self.position = self.position, before
        if word is None or _OF_BLANKS.fullmatch(self.text, after, end) is None:
            return None
        return word

    def _document_in(self, start: int, end: int) -> WordSyntax | None:
        """Read the here-document of `cat <<EOF`, where nothing else stands beside."""
        head = _CAT.match(self.text, start, end)
        if head is None or self._depth >= _MAX_DEPTH:
            return None
        last = document_end(self.text, head.end(), head[3], tabs=bool(head[1]))
        if last < 0 or self.text[last + len(head[3]) : end].strip():
            return None
        if head[2]:
            return self.plain(head.end(), last)
        self._depth += 1
        word = self.data(head.end(), last)
        self._depth -= 1
        return word

    def closing(self, position: int) -> int:
        """Return where the bracket or backtick at a position ends; -1 when nowhere."""
        if self.unclosed >= MAX_UNCLOSED:
            return -1
        if self.text[position] == "`":
            match = _BACKTICKS.match(self.text, position)
            return match.end() if match else -1
        stack: list[str] = []
        limit = position + _MAX_SPAN
        while True:
            kind = stack[-1] if stack else "("
            match = _SUBSTITUTION[kind].search(self.text, position, limit)
            if match is None:
                return -1
            position = self._step(match, stack)
            if position < 0 or not stack:
                return position

    def _step(self, match: re.Match[str], stack: list[str]) -> int:
        """Go past one token inside a bracket; -1 when it never ends."""
        text = match[0]
        end = match.end()
        if text in {"$(", "(", "${"}:
            stack.append(text[-1])
        elif text in {")", "}"} or (text == '"' and stack[-1] == '"'):
            stack.pop()
        elif text == '"':
            stack.append(text)
        elif text == "\\":
            end += 1
        elif text == "'":
            end = self.text.find("'", end) + 1 or -1
        elif text == "`":
            backticks = _BACKTICKS.match(self.text, match.start())
            end = backticks.end() if backticks else -1
        elif text == "#":
            end = self.text.find("\n", end)
        else:
            end = self._past_document(match)
        return end

    def _past_document(self, match: re.Match[str]) -> int:
        """Go past a here-document inside a substitution."""
        head = _HEREDOC.match(self.text, match.start())
        body = self.text.find("\n", match.end())
        if head is None or body < 0 or self.unclosed >= MAX_UNCLOSED:
            return match.end()
        end = document_end(self.text, body + 1, head[2], tabs=bool(head[1]))
        if end < 0:
            self.unclosed += 1
            return match.end()
        return end + len(head[2])

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
            for item in pending:
                self._read_document(item)
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
        """Read the simple command at the position; None where none begins."""
        text = self.text
        start = self.position
        words: list[WordSyntax] = []
        assignments: list[AssignmentSyntax] = []
        documents: list[WordSyntax] = []
        outputs: list[WordSyntax] = []
        takes_assignments = True
        while True:
            if not takes_assignments:
                self._plain_words(words)
            self.skip(BLANKS)
            position = self.position
            if position >= self.size or text[position] in "\n;|()#":
                break
            if redirection := _REDIRECTION.match(text, position):
                self._redirection(redirection, documents, outputs)
                continue
            if takes_assignments and (match := _ASSIGNMENT.match(text, position)):
                assignments.append(self._assignment(match))
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
        return Simple(
            tuple(assignments), tuple(words), documents, offset, tuple(outputs)
        )

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
        while match := _REDIRECTION.match(self.text, self.position):
            self._redirection(match, [], [])
            self.skip(BLANKS)

    def _redirection(
        self,
        match: re.Match[str],
        documents: list[WordSyntax],
        outputs: list[WordSyntax],
    ) -> None:
        start = self.position = match.end()
        self.skip(BLANKS)
        first = self.position
        word = self.word()
        if word is not None and match[1] in {">", ">>", ">|"}:
            outputs.append(word)
        if word is not None and match[1] == "<<<":
            documents.append(word)
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
        """Read the elements of an array, from its opening to its closing bracket."""
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

    def script(self) -> Block:
        """Read all statements of the text."""
        statements: list[Statement] = []
        while self.position < self.size:
            statements.extend(self._block(frozenset()))
            if self.position < self.size:
                self.refuse("unexpected ')'", self.position)
                self.position += 1
        return tuple(statements)

    def _block(self, stops: frozenset[str]) -> Block:
        """Return statements up to a closing bracket or a word that ends the block."""
        statements: list[Statement] = []
        text = self.text
        while True:
            self.gap()
            position = self.position
            if position >= self.size or text[position] == ")":
                return tuple(statements)
            token = self._token(position)
            if token in stops:
                return tuple(statements)
            statement = None if token in _CLOSERS else self._and_or()
            if statement is not None:
                statements.append(statement)
            if self.position == position:
                self.refuse(f"unexpected {token or text[position]!r}", position)
                self.position += len(token) or 1

    def _token(self, position: int) -> str:
        """Return the keyword or end of a case at a position, or nothing."""
        keyword = _KEYWORD.match(self.text, position)
        if keyword is None and self.text[position] == ";":
            keyword = _CASE_END.match(self.text, position)
            return ";;" if keyword else ""
        return keyword[0] if keyword else ""

    def _and_or(self) -> Statement | None:
        first = self._pipeline()
        rest: list[tuple[str, Statement]] = []
        while match := _AND_OR.match(self.text, self.position):
            self.position = match.end()
            self.gap(LINES)
            following = self._pipeline()
            if following is None:
                break
            if first is not None:
                rest.append((match[1], following))
        return AndOr(first, tuple(rest)) if first is not None and rest else first

    def _pipeline(self) -> Statement | None:
        text = self.text
        negated = False
        match = _KEYWORD.match(text, self.position)
        while match is not None and match[0] in _PREFIXES:
            negated ^= match[0] == "!"
            self.position = match.end()
            self.skip(BLANKS)
            match = _KEYWORD.match(text, self.position)
        first = self._command(match[0] if match else "")
        if first is None:
            return None
        parts = [first]
        while pipe := _PIPE.match(text, self.position):
            self.position = pipe.end()
            self.gap(LINES)
            match = _KEYWORD.match(text, self.position)
            following = self._command(match[0] if match else "")
            if following is None:
                break
            parts.append(following)
        if len(parts) == 1 and not negated:
            return first
        return Pipeline(tuple(parts), negated)

    def _command(self, keyword: str) -> Statement | None:
        """Read a compound command where one is opened here, else a simple one."""
        start = self.position
        if self.text.startswith("(", start):
            keyword = "("
        read = self._COMPOUND.get(keyword)
        if read is None or self._nesting >= _MAX_NESTING:
            return self._simple_or_function()
        self.position += len(keyword)
        self._nesting += 1
        statement = read(self, start)
        self._nesting -= 1
        self.redirections()
        return statement

    def _simple_or_function(self) -> Statement | None:
        simple = self.simple()
        if simple is None or len(simple.words) != 1 or simple.assignments:
            return simple
        match = _NO_ARGUMENTS.match(self.text, self.position)
        if match is None or not simple.words[0].text:
            return simple
        self.position = match.end()
        return self._function_body(simple.words[0].text)

    def _function_body(self, name: str) -> Statement:
        self.gap(LINES)
        match = _KEYWORD.match(self.text, self.position)
        body = None if match is None else self._command(match[0])
        if body is None and self.text.startswith("(", self.position):
            body = self._command("(")
        return Function(name, () if body is None else (body,))

    def _expect(self, word: str, start: int) -> None:
        """Go past the word that belongs to a compound command begun at start."""
        self.gap()
        if self.text.startswith(word, self.position):
            self.position += len(word)
        else:
            opener = self.text[start : start + 8].split()[0]
            self.refuse(f"{opener!r} without its {word!r}", start)

    def _group(self, start: int) -> Statement:
        body = self._block(frozenset({"}"}))
        self._expect("}", start)
        return CommandGroup(body, subshell=False)

    def _subshell(self, start: int) -> Statement:
        if self.text.startswith("((", start):
            end = self.closing(start)
            if end > 0 and self.text.startswith("))", end - 2):
                self.position = end
                return Calculation(self.data(start + 2, end - 2))
        body = self._block(frozenset())
        self._expect(")", start)
        return CommandGroup(body, subshell=True)

    def _if(self, start: int) -> Statement:
        arms: list[tuple[Block, Block]] = []
        otherwise: Block = ()
        while True:
            condition = self._block(frozenset({"then"}))
            self._expect("then", start)
            arms.append((condition, self._block(frozenset({"elif", "else", "fi"}))))
            if not self.text.startswith("elif", self.position):
                break
            self.position += len("elif")
        if self.text.startswith("else", self.position):
            self.position += len("else")
            otherwise = self._block(frozenset({"fi"}))
        self._expect("fi", start)
        return If(tuple(arms), otherwise)

    def _while(self, start: int) -> Statement:
        until = self.text.startswith("until", start)
        condition = self._block(frozenset({"do"}))
        return While(condition, self._loop_body(start), until)

    def _loop_body(self, start: int) -> Block:
        self._expect("do", start)
        body = self._block(frozenset({"done"}))
        self._expect("done", start)
        return body

    def _for(self, start: int) -> Statement:
        self.skip(BLANKS)
        first = self.position
        words: list[WordSyntax] | None = None
        if self.text.startswith("((", first):
            end = self.closing(first)
            self.position = end if end > 0 else first + 2
            name = self.text[first + 2 : self.position].partition("=")[0].strip()
        else:
            variable = self.word()
            name = variable.text if variable else ""
            self.gap(LINES)
            match = _IN.match(self.text, self.position)
            if match is not None:
                self.position = match.end()
                words = self._words()
        place = self.place(first, self.position)
        body = self._loop_body(start)
        return For(name, None if words is None else tuple(words), body, place)

    def _words(self) -> list[WordSyntax]:
        """Read the words up to the end of the line."""
        words: list[WordSyntax] = []
        self.skip(BLANKS)
        while self.position < self.size and not self.text.startswith(
            "#", self.position
        ):
            word = self.word()
            if word is None:
                break
            words.append(word)
            self.skip(BLANKS)
        return words

    def _case(self, start: int) -> Statement:
        self.skip(BLANKS)
        subject = self.word() or self.plain(self.position, self.position)
        self._expect("in", start)
        arms: list[tuple[tuple[WordSyntax, ...], Block]] = []
        stops = frozenset({";;", "esac"})
        while True:
            self.gap(LINES)
            position = self.position
            if position >= self.size or self._token(position) == "esac":
                break
            patterns = self._patterns()
            arms.append((patterns, self._block(stops)))
            end = _CASE_END.match(self.text, self.position)
            if end is not None:
                self.position = end.end()
            elif self.position == position:
                self.refuse(f"unexpected {self.text[position]!r}", position)
                self.position += 1
        self._expect("esac", start)
        return Case(subject, tuple(arms))

    def _patterns(self) -> tuple[WordSyntax, ...]:
        """Read the patterns before the closing bracket of a case."""
        patterns: list[WordSyntax] = []
        if self.text.startswith("(", self.position):
            self.position += 1
        while True:
            patterns += self._words()
            if not self.text.startswith("|", self.position):
                break
            self.position += 1
        if self.text.startswith(")", self.position):
            self.position += 1
        return tuple(patterns)

    def _function(self, start: int) -> Statement:
        self.skip(BLANKS)
        name = self.word()
        self.skip(_NO_ARGUMENTS)
        if name is None:
            self.refuse("a function without a name", start)
        return self._function_body(name.text if name else "")

    def _test(self, start: int) -> Statement:
        text = self.text
        words: list[WordSyntax] = []
        while self.unclosed < MAX_UNCLOSED:
            self.gap(LINES)
            position = self.position
            if text.startswith("]]", position):
                self.position += len("]]")
                return Test(tuple(words))
            if position >= self.size:
                break
            operator = _TEST_OPERATOR.match(text, position)
            pattern = None
            if words and words[-1].text == "=~":
                pattern = _PATTERN.match(text, position)
            if pattern is not None:
                words.append(self.opaque(*pattern.span()))
                self.position = pattern.end()
            elif operator is not None:
                words.append(self.plain(*operator.span()))
                self.position = operator.end()
            elif (word := self.word()) is not None:
                words.append(word)
        self.refuse("'[[' without its ']]'", start)
        self.unclosed += 1
        end = text.find("\n", start)
        self.position = self.size if end < 0 else end
        return Test(())

    _COMPOUND: ClassVar[Mapping[str, Callable[..., Statement]]] = {
        "{": _group,
        "(": _subshell,
        "if": _if,
        "for": _for,
        "select": _for,
        "while": _while,
        "until": _while,
        "case": _case,
        "function": _function,
        "[[": _test,
    }


def _unescaped(match: re.Match[str]) -> str:
    """Return what an escape in `$'...'` stands for."""
    sign = match[1]
    if len(sign) > 1 and sign[0] == "x":
        return chr(int(sign[1:], 16))
    if sign[0] in "01234567":
        return chr(int(sign, 8) & 0xFF)
    return _ANSI_ESCAPES.get(sign, sign)


def document_end(text: str, position: int, delimiter: str, *, tabs: bool) -> int:
    """Return where the delimiter that ends a here-document stands; -1 if nowhere."""
    if not delimiter:
        return text.find("\n\n", position - 1) + 1 or -1
    line = position
    while line >= 0:
        start = line
        while tabs and text.startswith("\t", start):
            start += 1
        end = start + len(delimiter)
        if text.startswith(delimiter, start) and text[end : end + 1] in {"", "\n"}:
            return start
        # Only a line that begins with the delimiter, or with tabs, can be the one.
        line = text.find("\n" if tabs else "\n" + delimiter, line) + 1 or -1
    return -1
