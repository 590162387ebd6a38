"""TOML files: what `tomllib` makes of them, and the places of keys and values."""

from functools import partial
from tomllib import TOMLDecodeError, loads

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import (
    MAXIMUM_DEPTH,
    Document,
    Extent,
    LineTable,
    ReadError,
    TreeNode,
    demand_depth,
    long_integer,
    placeholder,
    template_error,
    template_marker,
    too_deep,
    too_deep_in_brackets,
)

_SINGLE_LINE_STRING = r"\"(?:[^\"\\\n]++|\\.)*+\"?|'[^'\n]*+'?"
_STRING_OR_COMMENT = lazy_pattern(rf"{_SINGLE_LINE_STRING}|#[^\n]*")
# tomllib (3.11 to 3.14) takes time with the square of the parts of a dotted key.
_LONG_DOTTED_KEY = lazy_pattern(
    rf"(?<![\w\"-])(?:[\w\"-]++\s*+\.\s*+){{{MAXIMUM_DEPTH}}}"
)
_PLACE = lazy_pattern(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)$")
_BLANK = lazy_pattern(r"(?:[\s,]|#[^\n]*)*+")
_KEY_PART = lazy_pattern(rf"[ \t]*+({_SINGLE_LINE_STRING}|[\w-]++)[ \t]*+(\.?)")
_SCALAR = lazy_pattern(
    r"(?s:(\"\"\"(?:\\.|[^\\])*?\"{3,5}|'''.*?'{3,5})"
    rf"|({_SINGLE_LINE_STRING})"
    r"|\d{4}-\d\d-\d\d \d\d:[\d:.+Z-]+|[^\s,\]}#]+)"
)

_REMEDIES = {
    "Cannot overwrite a value": "give each key and table once",
    "Cannot declare": "give each table once",
    "Invalid value": "quote the text, or give a number, true or false",
    "Expected '=' after a key": "write `key = value`",
    "Unclosed array": "close the bracket",
    "Unterminated string": "close the quotes",
    "Illegal character '\\n'": "close the quotes",
    "Illegal character": "write tabs and line ends in texts as \\t and \\n",
}


def load_toml(name: str, text: str) -> Document:
    """Return the document of a TOML text.

    Raises:
        ReadError: the text is not TOML, is a template, or nests too deep.
    """
    _demand_short_keys(name, text)
    try:
        data = loads(text)
    except TOMLDecodeError as error:
        raise _syntax_error(name, text, str(error)) from error
    except RecursionError:
        raise too_deep_in_brackets(name, text) from None
    except ValueError as error:
        raise long_integer(name, text) from error
    demand_depth(name, text, data)
    if not data:
        raise ReadError(
            name,
            "empty",
            "no value in it, only comments",
            "give a file that states something",
        )
    return Document(
        name=name,
        language="toml",
        text=text,
        data=data,
        find_nodes=partial(_find_nodes, text),
    )


def _demand_short_keys(name: str, text: str) -> None:
    if text.count(".") <= MAXIMUM_DEPTH:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAXIMUM_DEPTH:
            match = _LONG_DOTTED_KEY.search(_STRING_OR_COMMENT.sub('""', line))
            if match is not None:
                raise too_deep(name, (number, match.start() + 1))


def _syntax_error(name: str, text: str, message: str) -> ReadError:
    lines = LineTable(text)
    match = _PLACE.search(message)
    place = lines.place(len(text))
    if match is not None and match[1]:
        place = int(match[1]), int(match[2])
    offset = lines.offset(place[0]) + place[1] - 1
    marker = template_marker(text, lines, place[0])
    if marker is not None:
        return template_error(name, text, marker)
    word = placeholder(text, offset, bare_words=False)
    if word is not None:
        return template_error(name, text, offset, word)
    problem = _PLACE.sub("", message)
    if not text[offset:].strip() and text.count("\n", offset) == 0:
        problem = f"it ends in the middle: {problem}"
        return ReadError(name, "syntax", f"not TOML: {problem}", "complete it", place)
    remedy = next(
        (remedy for part, remedy in _REMEDIES.items() if part in problem),
        "correct the TOML here",
    )
    return ReadError(name, "syntax", f"not TOML: {problem}", remedy, place)


def _find_nodes(text: str) -> TreeNode:
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.root


class _Scanner:
    """Finds the places of keys and values in a text that has been parsed before."""

    def __init__(self, text: str) -> None:
        self.root = TreeNode(None, (0, len(text)))
        self.root.children = {}
        self._text = text
        self._position = 0

    def scan(self) -> None:
        """Read the text once, statement by statement."""
        table = self.root
        self._skip_blank()
        while self._position < len(self._text):
            if self._text.startswith("[", self._position):
                table = self._header()
            else:
                self._pair(table)
            self._skip_blank()

    def _header(self) -> TreeNode:
        """Open the table that `[a.b]` or `[[a.b]]` names."""
        start = self._position
        is_array = self._text.startswith("[[", start)
        self._position += 2 if is_array else 1
        *outer, (name, extent) = self._key()
        self._position = self._text.index("]", self._position) + (2 if is_array else 1)
        table = self.root
        for step, at in outer:
            table = _last_item(_enter(table, step, at))
        table = _enter(table, name, extent)
        if is_array:
            table = _enter(table, len(table.children or ()), None)
        else:
            table.key = extent  # the header, rather than a mention in another one
        table.value = start, self._position
        return table

    def _pair(self, table: TreeNode) -> None:
        """Read `key = value` of a table."""
        *outer, (name, extent) = self._key()
        self._position = self._text.index("=", self._position) + 1
        for step, at in outer:
            table = _enter(table, step, at)
        node = self._value()
        node.key = extent
        _add(table, name, node)

    def _key(self) -> list[tuple[str, Extent]]:
        """Read the parts of a dotted key."""
        parts: list[tuple[str, Extent]] = []
        while True:
            match = _KEY_PART.match(self._text, self._position)
            if match is None:
                return parts
            self._position = match.end()
            parts.append((_unquoted(match[1]), match.span(1)))
            if not match[2]:
                return parts

    def _value(self) -> TreeNode:
        """Read a scalar, an array or an inline table."""
        self._skip_blank()
        start = self._position
        opening = self._text[start : start + 1]
        if opening not in {"[", "{"}:
            return self._scalar()
        node = TreeNode(None, (start, start))
        node.children = {}
        self._position += 1
        self._skip_blank()
        while not self._text.startswith("]" if opening == "[" else "}", self._position):
            if opening == "[":
                _add(node, len(node.children), self._value())
            else:
                self._pair(node)
            self._skip_blank()
        self._position += 1
        node.value = start, self._position
        return node

    def _scalar(self) -> TreeNode:
        match = _SCALAR.match(self._text, self._position)
        if match is None:
            return TreeNode(None, (self._position, self._position))
        self._position = match.end()
        quotes = 3 if match[1] else 1 if match[2] else 0
        return TreeNode(None, match.span(), quotes=quotes)

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._position)
        if match is not None:
            self._position = match.end()


def _enter(table: TreeNode, step: str | int, extent: Extent | None) -> TreeNode:
    """Return the table under a step, made if it is not there yet."""
    known = table.child(step)
    if known is None:
        known = TreeNode(extent, extent or (0, 0))
        known.children = {}
        _add(table, step, known)
    return known


def _add(table: TreeNode, step: str | int, node: TreeNode) -> None:
    if table.children is not None:
        table.children[step] = node


def _last_item(node: TreeNode) -> TreeNode:
    """Return the table that a header means by an array of tables: its last one."""
    children = node.children or {}
    return children.get(len(children) - 1, node)


def _unquoted(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        return next(iter(loads(f"{part} = 0")))
    return part
