"""JSON files, also with the comments and trailing commas that HJSON readers allow."""

import json
from functools import partial
from re import Match

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import (
    MAXIMUM_DEPTH,
    MAXIMUM_DUPLICATES,
    Document,
    Duplicate,
    Extent,
    KeyPath,
    LineTable,
    ReadError,
    TreeNode,
    demand_depth,
    long_integer,
    placeholder,
    template_error,
    template_marker,
    too_deep_in_brackets,
)

# A string that is never closed runs to the end of the text, and so does a comment, so
# that no text makes a search start over again and again.
_STRING = r"\"(?:[^\"\\]++|\\.)*+\"?"
_COMMENT = lazy_pattern(rf"(?s:{_STRING}|/\*.*?(?:\*/|\Z))|(?://|#)[^\r\n]*")
_TRAILING_COMMA = lazy_pattern(rf"(?s:{_STRING}|,(?=\s*+[}}\]]))")
_TOKEN = lazy_pattern(rf"(?s:({_STRING})|([{{\[])|([}}\]])|([^\s{{}}\[\],:\"]+))")
_NOT_LINE_END = lazy_pattern(r"[^\r\n]")
_WORD = lazy_pattern(r"[A-Za-z_][\w.-]*")
_LITERALS = {"true": "true", "false": "false", "none": "null", "null": "null"}

_REMEDIES = {
    "Expecting ',' delimiter": "add the missing comma, or close the bracket",
    "Expecting ':' delimiter": "write a colon between key and value",
    "Expecting property name enclosed in double quotes": (
        "put the key in double quotes"
    ),
    "Expecting value": (
        "give a number such as 0.5, a text in double quotes, true, false or null"
    ),
    "Extra data": "keep one value in the file, and remove what follows it",
    "Invalid control character at": "write tabs and line ends in texts as \\t and \\n",
    "Invalid \\escape": "double the backslash",
    "Unterminated string starting at": "close the double quotes",
}


def load_json(name: str, text: str) -> Document:
    """Return the document of a JSON text; the last value of a duplicate key holds.

    Raises:
        ReadError: the text is not JSON, is a template, or nests too deep.
    """
    relaxed = False
    try:
        data, has_duplicates = _parse(name, text)
    except json.JSONDecodeError:
        relaxed = True
        try:
            data, has_duplicates = _parse(name, _without_comments(text))
        except json.JSONDecodeError as error:
            raise _syntax_error(name, text, error) from error
    if text.count("[") + text.count("{") > MAXIMUM_DEPTH:
        demand_depth(name, text, data)
    duplicates: list[Duplicate] = []
    if has_duplicates:
        duplicates = _scan(text, relaxed=relaxed).duplicates
    return Document(
        name=name,
        language="json",
        text=text,
        data=data,
        find_nodes=partial(_find_nodes, text, relaxed=relaxed),
        duplicates=tuple(duplicates),
        relaxed=relaxed,
    )


def _parse(name: str, text: str) -> tuple[object, bool]:
    """Return the data, and whether any mapping gives a key twice."""
    has_duplicates = False

    def collect(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal has_duplicates
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            has_duplicates = True
        return mapping

    try:
        data: object = json.loads(text, object_pairs_hook=collect)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise too_deep_in_brackets(name, text) from None
    except ValueError as error:
        raise long_integer(name, text) from error
    return data, has_duplicates


def _without_comments(text: str) -> str:
    """Return the text with spaces for comments and trailing commas, in place.

    Comments begin with `//` or `#`, or stand between `/*` and `*/`.
    """

    def blank(match: Match[str]) -> str:
        token = match[0]
        return token if token[0] == '"' else _NOT_LINE_END.sub(" ", token)

    return _TRAILING_COMMA.sub(blank, _COMMENT.sub(blank, text))


def _syntax_error(name: str, text: str, error: json.JSONDecodeError) -> ReadError:
    lines = LineTable(text)
    place = lines.place(error.pos)
    marker = template_marker(text, lines, place[0])
    if marker is not None:
        return template_error(name, text, marker)
    is_value = error.msg == "Expecting value"
    match = _WORD.match(text, error.pos)
    word = match[0] if match else ""
    literal = _LITERALS.get(word.lower())
    if is_value and literal is not None:
        remedy = f"write {literal}"
        return ReadError(name, "syntax", f"not JSON: {word}", remedy, place)
    left_open = placeholder(text, error.pos, bare_words=is_value)
    if left_open is not None:
        return template_error(name, text, error.pos, left_open)
    if not text[error.pos :].strip():
        problem = f"not JSON: it ends in the middle ({error.msg})"
        return ReadError(name, "syntax", problem, "complete the file", place)
    problem = f"not JSON: {error.msg.removesuffix(' at').removesuffix(' starting')}"
    remedy = _REMEDIES.get(error.msg, "correct the JSON here")
    if text[error.pos] == ",":
        remedy = "remove this comma, or give what is missing before it"
    if word and is_value:
        problem, remedy = f"not JSON: {word} is not quoted", "put it in double quotes"
    return ReadError(name, "syntax", problem, remedy, place)


def _find_nodes(text: str, *, relaxed: bool) -> TreeNode:
    return _scan(text, relaxed=relaxed).root


def _scan(text: str, *, relaxed: bool) -> "_Scanner":
    scanner = _Scanner(_without_comments(text) if relaxed else text)
    scanner.scan()
    return scanner


class _Frame:
    """A mapping or list that is still open."""

    __slots__ = ("children", "firsts", "is_mapping", "key", "node", "step")

    def __init__(self, node: TreeNode, *, is_mapping: bool) -> None:
        self.node = node
        self.children: dict[str | int, TreeNode] = {}
        node.children = self.children
        self.is_mapping = is_mapping
        self.step: str | int = 0
        self.key: Extent | None = None  # set between a key and its value
        self.firsts: dict[str | int, Extent] = {}  # first places of keys given again


class _Scanner:
    """Finds the places of everything in a text that has been parsed before."""

    def __init__(self, text: str) -> None:
        self.root = TreeNode(None, (0, 0))
        self.duplicates: list[Duplicate] = []
        self._text = text
        self._lines = LineTable(text)
        self._open: list[_Frame] = []

    def scan(self) -> None:
        """Read the text once, token by token."""
        for match in _TOKEN.finditer(self._text):
            string, opening, closing, _ = match.groups()
            frame = self._open[-1] if self._open else None
            if closing:
                self._close(match.end())
            elif string and frame and frame.is_mapping and frame.key is None:
                frame.key = match.span()
                frame.step = json.loads(string) if "\\" in string else string[1:-1]
            else:
                node = TreeNode(None, match.span(), quotes=1 if string else 0)
                self._attach(node)
                if opening:
                    self._open.append(_Frame(node, is_mapping=opening == "{"))

    def _close(self, stop: int) -> None:
        node = self._open.pop().node
        node.value = node.value[0], stop

    def _attach(self, node: TreeNode) -> None:
        if not self._open:
            self.root = node
            return
        frame = self._open[-1]
        if frame.is_mapping:
            node.key = frame.key
            frame.key = None
            if frame.step in frame.children:
                self._note_duplicate(frame, node)
        else:
            frame.step = len(frame.children)
        frame.children[frame.step] = node

    def _note_duplicate(self, frame: _Frame, node: TreeNode) -> None:
        earlier = frame.children[frame.step].key
        if len(self.duplicates) < MAXIMUM_DUPLICATES and earlier and node.key:
            path: KeyPath = tuple(outer.step for outer in self._open)
            first = frame.firsts.setdefault(frame.step, earlier)
            spans = self._lines.span(first), self._lines.span(node.key)
            self.duplicates.append(Duplicate(path, *spans))
