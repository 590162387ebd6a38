"""Shell text inside a document: the script in a scalar, or a list of words.

YAML cuts the indentation off a script, folds its lines or escapes its signs. The script
is read as the shell gets it, and what is found in it stands where the file has it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document, LineTable
from speccheck.validator.sources.mapping import items
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.shell.script import (
    Directive,
    Script,
    ShellAssignment,
    ShellCommand,
    ShellWord,
)

Variables = Mapping[str, str | None]
"""What the container sets, by name; None where the value is not known."""

_NOTHING: Variables = MappingProxyType({})
_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_LINE = lazy_pattern(r"[^\n]+")
_WORD = lazy_pattern(r"\S+")
_REFERENCE = lazy_pattern(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_PLAIN = lazy_pattern(r"[\w@%+=:,./-]+")
# A template's variable, which no shell will replace in a list of words.
_OPEN = lazy_pattern(r"\$(?:\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)")
_SINGLE_QUOTED = lazy_pattern(r"''|'")
_DOUBLE_QUOTED = lazy_pattern(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)|\""
)
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

Anchors = list[tuple[int, int]]
"""Offsets in a script, ascending, and those in the file that they come from."""


def embedded_script(
    document: Document, path: KeyPath, known: Variables = _NOTHING
) -> Source | None:
    """Return the script in the text at `path`; None when there is no text.

    Args:
        document: the document of the file.
        path: of the scalar.
        known: variables that the script is started with.
    """
    script = value_at(document.data, path)
    start = document.offset(path)
    if not isinstance(script, str) or not script.strip() or start is None:
        return None
    lines = document.lines
    anchors = list(_anchors(document.text, start, script)) or [(0, start)]
    script = _with_references(script, known)
    return _Embedded(document.name, script, _Origins(lines, anchors), known)


def embedded_command(
    document: Document, *paths: KeyPath, known: Variables = _NOTHING
) -> Source | None:
    """Return the command whose words are the lists at `paths`, one after the other.

    Of `[bash, -c, script]` it is the script; of other words a line that holds them. As
    in Kubernetes, `$(NAME)` stands for a variable of the container.

    Args:
        document: the document of the file.
        paths: of the lists; one that does not exist is empty. A text is a script.
        known: variables that the command is started with.
    """
    if len(paths) == 1 and isinstance(value_at(document.data, paths[0]), str):
        return embedded_script(document, paths[0], known)
    words: list[tuple[str, KeyPath]] = []
    for path in paths:
        for index, item in enumerate(items(value_at(document.data, path))):
            if isinstance(item, str | int | float):
                words.append((str(item), (*path, index)))
    position = _script_position([text for text, _ in words])
    if position is not None:
        return embedded_script(document, words[position][1], known)
    return _line_of(document, words, known) if words else None


def value_at(data: object, path: KeyPath) -> object:
    """Return what lies at a path; None where nothing does."""
    value = data
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            return None
    return value


def _script_position(words: Sequence[str]) -> int | None:
    """Return which word a shell takes for the script: `bash -euo pipefail -c ...`."""
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return None
    takes_script = is_value = False
    for position, word in enumerate(words[1:], 1):
        if is_value:
            is_value = False
        elif word[:1] in {"-", "+"}:
            flags = "" if word.startswith("--") else word
            takes_script = takes_script or "c" in flags
            is_value = flags.endswith(("o", "O"))
        else:
            return position if takes_script else None
    return None


def _line_of(
    document: Document, words: Sequence[tuple[str, KeyPath]], known: Variables
) -> Source | None:
    """Return one command line of quoted words."""
    lines = document.lines
    anchors: Anchors = []
    parts: list[str] = []
    length = 0
    for text, path in words:
        start = document.offset(path)
        if start is None:
            return None
        start += document.text[start : start + 1] in {'"', "'"}
        quoted = _quoted(text, known)
        anchors.append((length, start))
        if quoted[:1] in {'"', "'"}:
            anchors.append((length + 1, start))
        parts.append(quoted)
        length += len(quoted) + 1
    origins = _Origins(lines, anchors)
    return _Embedded(document.name, " ".join(parts), origins, _NOTHING)


def _quoted(text: str, known: Variables) -> str:
    """Return a word for a shell; what is open in it stays a reference."""

    def expanded(match: re.Match[str]) -> str:
        name = match[1]
        return (known[name] or f"${{{name}}}") if name in known else match[0]

    text = _REFERENCE.sub(expanded, text)
    if _OPEN.search(text) is None:
        return text if _PLAIN.fullmatch(text) else _single_quoted(text)
    parts: list[str] = []
    end = 0
    for match in _OPEN.finditer(text):
        parts += [_escaped(text[end : match.start()]), match[0]]
        end = match.end()
    return f'"{"".join(parts)}{_escaped(text[end:])}"'


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _escaped(text: str) -> str:
    for sign in '\\"`$':
        text = text.replace(sign, "\\" + sign)
    return text


def _with_references(script: str, known: Variables) -> str:
    """Return `$(NAME)` of a variable, which Kubernetes replaces first, as `${NAME}`."""
    return _REFERENCE.sub(
        lambda match: f"${{{match[1]}}}" if match[1] in known else match[0], script
    )


def _anchors(text: str, start: int, script: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a script stand in the file.

    Whatever YAML does to line ends and blanks, the words between them stay in order;
    of a literal scalar the lines do.
    """
    style = text[start : start + 1]
    written, origins = text, [(0, 0)]
    position = start
    if style in {"|", ">"}:
        position = text.find("\n", start) + 1
    elif style in {'"', "'"}:
        written, origins = _unescaped(text, start + 1, style)
        position = 0
    for part in (_LINE if style == "|" else _WORD).finditer(script):
        number = written.find(part[0], position)
        if number < 0:
            continue
        position = number + len(part[0])
        yield part.start(), _origin(origins, number)


def _unescaped(text: str, start: int, quote: str) -> tuple[str, Anchors]:
    """Remove the escapes of a quoted scalar; return where its stretches stand, too."""
    parts: list[str] = []
    origins: Anchors = []
    length = 0

    def add(part: str, origin: int) -> None:
        nonlocal length
        origins.append((length, origin))
        parts.append(part)
        length += len(part)

    pattern = _DOUBLE_QUOTED if quote == '"' else _SINGLE_QUOTED
    for match in pattern.finditer(text, start):
        add(text[start : match.start()], start)
        if match[0] == quote:
            break
        sign = quote if quote == "'" else _unescaped_sign(match[0][1:])
        add(sign, match.start())
        start = match.end()
    return "".join(parts), origins


def _unescaped_sign(escape: str) -> str:
    if escape[0] in "xuU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return "" if escape[0] in "\r\n" else _ESCAPES.get(escape, escape)


def _origin(anchors: Anchors, offset: int) -> int:
    """Return where a character of the script stands, by the last anchor before it."""
    index = bisect_right(anchors, offset, key=itemgetter(0)) - 1
    here, there = anchors[max(index, 0)]
    return max(0, there + offset - here)


class _Origins(Record):
    """Where the parts of a script stand in a file."""

    lines: LineTable
    anchors: Anchors

    def first_line(self, script: str) -> int:
        """Return the line of the file on which the first line of the script stands."""
        offset, origin = self.anchors[0]
        return max(1, self.lines.place(origin)[0] - script.count("\n", 0, offset))


class _Embedded(Source):
    """A script whose words stand in a document.

    The blank lines before the text bring its first line to that of the file.
    """

    __slots__ = ("_known", "_origins", "_own_text")

    def __init__(
        self, name: str, script: str, origins: _Origins, known: Variables
    ) -> None:
        padding = "\n" * (origins.first_line(script) - 1)
        super().__init__(name, padding + script, "shell")
        self._own_text = script
        self._origins = origins
        self._known = known

    @property
    def own_text(self) -> str:
        """The script without the blank lines before it."""
        return self._own_text

    def lines_in_file(self, lines: tuple[int, ...]) -> tuple[int, ...]:
        """Return on which lines of the file the lines of the script stand."""
        mover = _Mover(self._own_text, self._origins)
        return tuple([mover.line(line) for line in lines])

    @property
    def script(self) -> Script:
        """The script, its words in the places that they have in the file."""
        if self._script is None:
            # The reader of shell scripts costs 12 ms at start-up.
            from speccheck.validator.sources.shell.interpreter import (  # noqa: PLC0415
                parse_script,
            )

            given = {name: text for name, text in self._known.items() if text}
            script = parse_script(self._own_text, given, name=_base(self.name))
            self._script = _Mover(self._own_text, self._origins).script(script)
        return self._script


def moved_script(name: str, text: str, lines: LineTable, anchors: Anchors) -> Script:
    """Return a script whose words stand elsewhere in a file, by their anchors."""
    from speccheck.validator.sources.shell.interpreter import (  # noqa: PLC0415
        parse_script,
    )

    return _Mover(text, _Origins(lines, anchors)).script(
        parse_script(text, name=_base(name))
    )


def _base(name: str) -> str:
    return name.rpartition("/")[2]


class _Mover:
    """Moves what was found in a script to where the file has it."""

    __slots__ = ("_commands", "_origins", "_own_lines")

    def __init__(self, script: str, origins: _Origins) -> None:
        self._own_lines = LineTable(script)
        self._origins = origins
        self._commands: dict[int, ShellCommand] = {}

    def script(self, script: Script) -> Script:
        """Return the script with all places moved."""
        problems = [
            problem._replace(line=self.line(problem.line))
            for problem in script.problems
        ]
        return Script(
            tuple([self._directive(directive) for directive in script.directives]),
            tuple([self._command(command) for command in script.commands]),
            tuple([self._assignment(assignment) for assignment in script.assignments]),
            {
                name: self._assignment(variable)
                for name, variable in script.variables.items()
            },
            {name: self._assignment(export) for name, export in script.exports.items()},
            tuple(problems),
            unseen=tuple(
                source._replace(word=source.word and self._word(source.word))
                for source in script.unseen
            ),
        )

    def _place(self, line: int, column: int) -> tuple[int, int]:
        offset = self._own_lines.offset(max(1, line)) + max(1, column) - 1
        return self._origins.lines.place(_origin(self._origins.anchors, offset))

    def line(self, line: int) -> int:
        """Return the line on which the first word of a line stands."""
        text = self._own_lines.line(max(1, line))
        return self._place(line, len(text) - len(text.lstrip()) + 1)[0]

    def _word(self, word: ShellWord) -> ShellWord:
        line, column = self._place(word.line, word.column)
        return word._replace(line=line, column=column)

    def _assignment(self, assignment: ShellAssignment) -> ShellAssignment:
        place = self._place(assignment.line, assignment.column)
        value = self._word(assignment.value)
        return ShellAssignment(
            assignment.name, value, assignment.exported, *place, assignment.conditional
        )

    def _directive(self, directive: Directive) -> Directive:
        line, column = self._place(directive.line, directive.column)
        return directive._replace(line=line, column=column)

    def _command(self, command: ShellCommand) -> ShellCommand:
        """Return the command; several hold the same outer one."""
        moved = self._commands.get(id(command))
        if moved is None:
            moved = ShellCommand(
                tuple([self._word(word) for word in command.words]),
                tuple(
                    [self._assignment(assignment) for assignment in command.environment]
                ),
                self.line(command.line),
                command.conditional,
                None if command.outer is None else self._command(command.outer),
            )
            self._commands[id(command)] = moved
        return moved
