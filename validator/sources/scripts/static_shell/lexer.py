"""Words of a shell script as they are written: quotes and expansions, nothing run.

The grammar is that of bash(1), sections QUOTING and EXPANSION. Everything is read in
one pass; what is opened and never closed ends at its line, a bounded number of times.
"""

import re
from collections.abc import Callable

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.scripts.static_shell.pieces import Origins
from speccheck.validator.sources.scripts.static_shell.syntax import (
    Arithmetic,
    Literal,
    Opaque,
    Parameter,
    Part,
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
_ANSI_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b"}


class Lexer:
    """Reads words from a position in a text.

    Offsets in what it returns are those of the file: `origins` translates them where
    the text itself came out of an expansion.
    """

    def __init__(
        self, text: str, report: Callable[[str, int], None], origins: Origins | None
    ) -> None:
        self.text = text
        self.size = len(text)
        self.position = 0
        self._report = report
        self._origins = origins
        self.unclosed = 0
        self._depth = 0

    def report(self, message: str, position: int) -> None:
        """Note a problem at a position of this text."""
        self._report(message, self.place(position, position)[0])

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The offsets in the file of a range of this text."""
        if self._origins is None:
            return start, end
        return self._origins.locate(start, end)[:2]

    def plain(self, start: int, end: int) -> WordSyntax:
        """The word of the plain characters from start to end."""
        text = self.text[start:end]
        if self._origins is None:
            return WordSyntax(text, start, end)
        first, last, resolved = self._origins.locate(start, end)
        if resolved:
            return WordSyntax(text, first, last)
        return WordSyntax(
            text,
            first,
            last,
            (Literal(text, first, last, quoted=False, resolved=False),),
        )

    def word(self) -> WordSyntax | None:
        """The word at the position, or None where none begins."""
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
        """The text of a here-document, in which variables are expanded."""
        parts: list[Part] = []
        self._scan(start, _DATA, parts, end)
        return self._composite(start, end, parts)

    def opaque(self, start: int, end: int) -> WordSyntax:
        """A word that is not looked into."""
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
        for text, first, last, resolved in self._origins.cut(start, end):
            parts.append(Literal(text, first, last, quoted, resolved))

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
        text = re.sub(r"\\(.)", lambda one: _ANSI_ESCAPES.get(one[1], one[1]), match[1])
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
        else:
            parts.append(Opaque("$(...)", *place, quoted))
        return end

    def closing(self, position: int) -> int:
        """Where the bracket or backtick at a position ends; -1 when nowhere."""
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
        found = match[0]
        end = match.end()
        if found in {"$(", "(", "${"}:
            stack.append(found[-1])
        elif found in {")", "}"} or (found == '"' and stack[-1] == '"'):
            stack.pop()
        elif found == '"':
            stack.append(found)
        elif found == "\\":
            end += 1
        elif found == "'":
            end = self.text.find("'", end) + 1 or -1
        elif found == "`":
            backticks = _BACKTICKS.match(self.text, match.start())
            end = backticks.end() if backticks else -1
        elif found == "#":
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


def document_end(text: str, position: int, delimiter: str, *, tabs: bool) -> int:
    """Where the line that ends a here-document has its delimiter; -1 when nowhere."""
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
