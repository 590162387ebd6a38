"""Comments in shell scripts and environment files, as the reader of scripts skips them.

What stands in quotes, in here-documents and in `$(...)` is no comment, unless it is
handed to another shell as its script.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping

from speccheck.validator.run.waivers.comment_scan import Lines, Scan, marked
from speccheck.validator.sources.documents.document import Extent, LineTable
from speccheck.validator.sources.shell.interpreter import Flow
from speccheck.validator.sources.shell.parser import Parser
from speccheck.validator.sources.shell.script import MAX_CHARACTERS, with_unix_lines
from speccheck.validator.sources.shell.syntax import Origins, Simple

_COMMENT = re.compile(r"#[^\n]*")
_DIRECTIVE = "#SBATCH"


def scan_shell(text: str) -> Scan:
    """Find the comments of a script, and the command that follows a line."""
    text = with_unix_lines(text[:MAX_CHARACTERS])
    flow = _ListeningFlow(text, {})
    flow.script()
    lines = _CommandLines(text, flow.heard_commands)
    comments = marked(text, sorted(flow.heard_comments))
    return Scan(comments, lines.following, lines.joined)


class _ListeningFlow(Flow):
    """Reads a script and those inside it; notes comments, and where commands go."""

    def __init__(self, text: str, known: Mapping[str, str]) -> None:
        super().__init__(text, known)
        self.heard_comments: set[Extent] = set()
        self.heard_commands: list[Extent] = []

    def parser(self, text: str, origins: Origins | None = None) -> Parser:
        """Return a parser that tells of what it skips."""
        return _Listening(text, origins, self)


class _Listening(Parser):
    """Notes comments and commands by their places in the file."""

    def __init__(
        self, text: str, origins: Origins | None, flow: _ListeningFlow
    ) -> None:
        super().__init__(text, flow.report, origins)
        self._flow = flow

    def skip(self, pattern: re.Pattern[str]) -> None:
        """Go past blanks and comments; here-documents are passed in another way."""
        start = self.position
        super().skip(pattern)
        if self.text.find("#", start, self.position) >= 0:
            for match in _COMMENT.finditer(self.text, start, self.position):
                self._flow.heard_comments.add(self.place(*match.span()))

    def simple(self) -> Simple | None:
        """Read a simple command, and note where it ends."""
        start = self.position
        simple = super().simple()
        if simple is not None:
            stop = start + len(self.text[start : self.position].rstrip())
            self._flow.heard_commands.append(self.place(start, stop))
        return simple


class _CommandLines:
    """Which lines of a script are one command."""

    def __init__(self, text: str, commands: list[tuple[int, int]]) -> None:
        table = LineTable(text)
        lines = text.split("\n")
        self._first = [*range(len(lines) + 1)]  # of the lines that are joined to one
        self._last = [*range(len(lines) + 1)]
        for line in range(len(lines) - 1, 0, -1):
            if _goes_on(lines[line - 1]):
                self._last[line] = self._last[line + 1]
        for line in range(2, len(lines) + 1):
            if _goes_on(lines[line - 2]):
                self._first[line] = self._first[line - 1]
        self._reach = self._last[:]  # the last line of the commands that begin on one
        for start, stop in reversed(commands):
            first = table.place(start)[0]
            last = table.place(max(start, stop - 1))[0]
            self._reach[first] = max(self._reach[first], self._reach[last])
        for line in range(len(lines) - 1, 0, -1):
            if _goes_on(lines[line - 1]):
                self._reach[line] = max(self._reach[line], self._reach[line + 1])
        self._said = [
            number
            for number, line in enumerate(lines, 1)
            if line.strip()
            and (not line.lstrip().startswith("#") or line.startswith(_DIRECTIVE))
        ]

    def following(self, line: int) -> Lines | None:
        """Return the next command below a line, with the lines that continue it."""
        index = bisect_right(self._said, line)
        if index == len(self._said):
            return None
        first = self._said[index]
        return first, self._reach[first]

    def joined(self, line: int) -> Lines:
        """Return the lines that backslashes join to one."""
        return self._first[line], self._last[line]


def _goes_on(line: str) -> bool:
    """Return whether a backslash joins the next line; comments end with theirs."""
    bare = line.rstrip("\\")
    return (len(line) - len(bare)) % 2 == 1 and not bare.lstrip().startswith("#")
