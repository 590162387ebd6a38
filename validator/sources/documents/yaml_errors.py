"""What to say of a text that is not YAML."""

import yaml
from yaml.error import Mark, MarkedYAMLError
from yaml.nodes import Node
from yaml.reader import Reader

from speccheck.validator.sources.documents.document import LineTable, ReadError
from speccheck.validator.sources.documents.template import (
    template_error,
    template_marker,
)

_SHOWN = 40  # characters of a text in a message

# Parts of the messages of libyaml 0.2 and PyYAML 6, and what to do about each.
_REMEDIES = (
    ("tab", "indent with spaces"),
    ("mapping values are not allowed", "quote the text that holds ': ', or indent it"),
    ("could not find expected ':'", "write `key: value`, or indent the text above"),
    ("did not find expected key", "align this line with the keys above it"),
    ("expected '-' indicator", "align this line with the items above it"),
    ("expected <block end>", "align this line with the lines above it"),
    ("sequence entries are not allowed", "begin the list on its own line"),
    ("',' or", "close the bracket, or add the missing comma"),
    ("node content", "give a value, or quote the text"),
    ("unexpected end of stream", "close the quote"),
    ("duplicate anchor", "give each anchor (&name) a name of its own"),
    ("alphabetic or numeric", "quote the text that begins with * or &"),
    ("undefined alias", "define the anchor (&name) above its alias (*name)"),
    ("escape character", "use single quotes, or double the backslash"),
    ("document start", "separate documents by a line ---"),
    ("undefined tag handle", "quote the text that begins with !"),
)


def syntax_error(name: str, text: str, error: yaml.YAMLError) -> ReadError:
    """The error of the parser as ours; a template where `{{` or `{%` explains it."""
    lines = LineTable(text)
    if not isinstance(error, MarkedYAMLError):
        return _unprintable(name, text, lines)
    mark = _mark(error)
    place = lines.place(mark.index if mark else 0)
    marker = template_marker(text, lines, place[0])
    if marker is not None:
        return template_error(name, text, marker)
    problem = _problem(error, lines)
    if "cannot start any token" in problem and mark is not None:
        return _bad_start(name, text[mark.index : mark.index + 1], place)
    remedy = next(
        (remedy for part, remedy in _REMEDIES if part in problem),
        "correct this line or the one above it",
    )
    rest = text[mark.index :] if mark is not None else text
    if "did not find expected" in problem and not rest.strip():
        problem, remedy = f"it ends in the middle: {problem}", "complete the file"
    return ReadError(name, "syntax", f"not YAML: {problem}", remedy, place)


def _mark(error: MarkedYAMLError) -> Mark | None:
    """Where to correct the text: of an open quote or a lone word, where it begins."""
    if error.context_mark is not None and any(
        part in (error.problem or "")
        for part in ("could not find expected ':'", "found unexpected end of stream")
    ):
        return error.context_mark
    return error.problem_mark or error.context_mark


def _problem(error: MarkedYAMLError, lines: LineTable) -> str:
    """What the parser found, and where the thing began in which it found it."""
    problem, context = error.problem or "", error.context or ""
    opened, mark = error.context_mark, _mark(error)
    if opened is None or (mark is not None and opened.line == mark.line):
        return problem or context
    line = lines.place(opened.index)[0]
    if "duplicate anchor" in context:
        return f"found duplicate anchor, first on line {line}"
    return f"{problem} ({context} that begins on line {line})"


def unreadable_scalar(name: str, text: str, node: Node, tag: str) -> ReadError:
    """A scalar that YAML takes for a number, and Python cannot convert."""
    value = repr(node.value[:_SHOWN])
    if len(node.value) > _SHOWN:
        value += f"... ({len(node.value):,} characters)"
    return ReadError(
        name,
        "syntax",
        f"YAML reads {value} as {tag} and cannot convert it",
        "correct the value, or quote it to keep it as text",
        LineTable(text).place(node.start_mark.index),
    )


def collection_as_key(name: str, text: str, key_node: Node) -> ReadError:
    """A mapping or list in place of a key: `{{ x }}` reads so, and nothing useful."""
    offset = key_node.start_mark.index
    for start in (offset, max(offset - 1, 0)):
        if text.startswith("{{", start):
            return template_error(name, text, start)
    return ReadError(
        name,
        "syntax",
        "a mapping or list is used as a key",
        "use a plain text as the key",
        LineTable(text).place(offset),
    )


def no_content(name: str) -> ReadError:
    """A text without any document."""
    return ReadError(
        name,
        "empty",
        "no value in it, only comments or empty documents",
        "give a file that states something",
    )


def _bad_start(name: str, word: str, place: tuple[int, int]) -> ReadError:
    if word == "\t":
        problem = "not YAML: a tab where only spaces may indent"
        return ReadError(name, "syntax", problem, "replace the tab by spaces", place)
    problem = f"not YAML: no value may begin with {word}"
    return ReadError(name, "syntax", problem, "quote the value", place)


def _unprintable(name: str, text: str, lines: LineTable) -> ReadError:
    found = Reader.NON_PRINTABLE.search(text)
    character = f"U+{ord(found[0]):04X}" if found else "one"
    return ReadError(
        name,
        "syntax",
        f"not YAML: control character {character}",
        "remove the character, or write it as an escape in double quotes",
        lines.place(found.start()) if found else None,
    )
