"""A configuration file as data that remembers where each key and value stands."""

import sys
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal, Protocol

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place, Span, dotted

__all__ = [
    "Document",
    "Duplicate",
    "Extent",
    "KeyPath",
    "Language",
    "LineTable",
    "RawScalar",
    "ReadError",
    "ReadErrorKind",
    "Resolution",
    "SourceNode",
    "Span",
    "TreeNode",
    "path_step",
]

_LONGEST_PROBLEM = 300  # characters; it may quote the file

Language = Literal["yaml", "json", "toml", "python"]
Extent = tuple[int, int]
ReadErrorKind = Literal[
    "missing",
    "unreadable",
    "directory",
    "too_large",
    "binary",
    "encoding",
    "empty",
    "template",
    "syntax",
    "too_deep",
    "too_many_aliases",
]

_LINE_BREAK = lazy_pattern(r"\r\n?|\n")


class ReadError(Exception):
    """A file that cannot be read; `str()` is one line: place, problem, what to do.

    `line` and `column` count from 1 and are None where no place is known.
    """

    def __init__(
        self,
        name: str,
        kind: ReadErrorKind,
        problem: str,
        remedy: str,
        at: tuple[int, int] | None = None,
    ) -> None:
        """Take the file's name, what is wrong, what to do, and line and column."""
        super().__init__(name, kind, problem, remedy, at)
        self.name = name
        self.kind: ReadErrorKind = kind
        self.problem = " ".join(problem[:_LONGEST_PROBLEM].split())
        self.remedy = remedy
        self.line = at[0] if at else None
        self.column = at[1] if at else None

    def __str__(self) -> str:
        """Return `train.yaml:3:7: the problem; what to do`."""
        place = f":{self.line}:{self.column}" if self.line is not None else ""
        message = f"{self.name}{place}: {self.problem}; {self.remedy}"
        # Names and files may hold line ends and escape sequences of terminals.
        return "".join(sign if sign.isprintable() else "?" for sign in message)


class Duplicate(Record):
    """The same key twice in one mapping; `path` names the key.

    A key given three times makes two of these, both with the same `first`.
    """

    path: KeyPath
    first: Span
    again: Span


class RawScalar(Record):
    """A scalar as written, without its quotes; escapes are left as they are.

    Of a YAML block scalar (`|`, `>`), which no loader takes for a number, `text` is
    the content and `quoted` is true.
    """

    text: str
    quoted: bool


class Resolution(Record):
    """What became of a text that refers to other values.

    is_known: the value was worked out; else the text stands as written.
    note: the arithmetic, or the reason why there is no value.
    places: of the values that it was worked out from.
    is_computed: by arithmetic; else the value stands as it is at the other place.
    only_if: the condition under which it holds, in words; empty for any case.
    """

    is_known: bool
    note: str
    places: tuple[Place, ...] = ()
    is_computed: bool = False
    only_if: str = ""


class SourceNode(Protocol):
    """A node of a file's syntax: extents are offsets into the text, end excluded."""

    @property
    def key(self) -> Extent | None:
        """Where the key stands that holds this node; None for items of lists."""
        ...

    @property
    def value(self) -> Extent:
        """Where the value stands."""
        ...

    @property
    def is_scalar(self) -> bool:
        """Whether the value is neither a mapping nor a list."""
        ...

    def child(self, step: str | int) -> "SourceNode | None":
        """Return the node under a key or at an index; None when there is none."""

    def raw(self, text: str) -> RawScalar | None:
        """Return the scalar as written; None for a mapping or a list."""


class TreeNode:
    """A node of JSON and TOML; `quotes` is the number of quotes on each side."""

    __slots__ = ("children", "key", "quotes", "value")

    def __init__(self, key: Extent | None, value: Extent, quotes: int = 0) -> None:
        """Start as a scalar; with `children` it is a mapping or a list."""
        self.key = key
        self.value = value
        self.quotes = quotes
        self.children: dict[str | int, TreeNode] | None = None

    @property
    def is_scalar(self) -> bool:
        """Whether the value is neither a mapping nor a list."""
        return self.children is None

    def child(self, step: str | int) -> "TreeNode | None":
        """Return the node under a key or at an index; None when there is none."""
        return None if self.children is None else self.children.get(step)

    def raw(self, text: str) -> RawScalar | None:
        """Return the scalar as written; None for a mapping or a list."""
        if self.children is not None:
            return None
        start, stop = self.value
        body = text[start + self.quotes : stop - self.quotes]
        return RawScalar(body, quoted=self.quotes > 0)


class LineTable:
    """Turns offsets of a text into lines and columns, all counted in code points."""

    __slots__ = ("_starts", "_text")

    def __init__(self, text: str) -> None:
        """Find the lines of a text; they end with LF, CR LF or CR."""
        self._text = text
        self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column, from 1, of an offset."""
        offset = min(offset, len(self._text))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int) -> int:
        """Return the offset at which a line begins; lines count from 1."""
        return self._starts[min(line, len(self._starts)) - 1]

    def line(self, line: int) -> str:
        """Return the text of a line, with its line end."""
        stop = self._starts[line] if line < len(self._starts) else None
        return self._text[self._starts[line - 1] : stop]

    def span(self, extent: Extent) -> Span:
        """Return the part of an extent that stands on its first line."""
        start, stop = extent
        line, column = self.place(start)
        if line < len(self._starts):
            stop = min(stop, self._starts[line])
        length = len(self._text[start:stop].rstrip())
        return Span(line, column, length)


class Document:
    """One document: its data as its own loader means it, and the places of its parts.

    Not changed after loading. `data` is what `yaml.safe_load`, `json.loads` or
    `tomllib.loads` give, but for YAML timestamps, `!!binary`, and unknown tags: these
    keep their text, and `!!set`, `!!omap`, `!!pairs` stay plain mappings and lists. Of
    a duplicate key the last value holds. Objects under YAML aliases are shared.

    A key path holds `str` and `int` steps; a key that is neither (`true`, `null`, a
    float) is named by its `str()`.
    """

    __slots__ = (
        "_find_nodes",
        "data",
        "duplicates",
        "index",
        "language",
        "name",
        "relaxed",
        "text",
    )

    def __init__(
        self,
        *,
        name: str,
        language: Language,
        text: str,
        data: object,
        find_nodes: Callable[[], SourceNode],
        index: int = 0,
        duplicates: tuple[Duplicate, ...] = (),
        relaxed: bool = False,
    ) -> None:
        """Join the data of a document with the way to find its places.

        Args:
            name: the file's name as the user gave it.
            language: the language that the text was read as.
            text: the whole text of the file, all its documents.
            data: the tree of mappings, lists and scalars.
            find_nodes: gives the syntax tree; called when a place is first asked for.
            index: number of the document in its file, empty documents counted.
            duplicates: keys given more than once.
            relaxed: whether the text is JSON only without comments, trailing commas.
        """
        self.name = name
        self.language: Language = language
        self.text = text
        self.data = data
        self.index = index
        self.duplicates = duplicates
        self.relaxed = relaxed
        self._find_nodes = find_nodes

    def __repr__(self) -> str:
        """Name the file and the document."""
        return f"<Document {self.name}[{self.index}] {self.language}>"

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Return where a key or a value stands; None for a path that does not exist.

        The value of a mapping, a list or nothing at all (`key:`) is marked at its key;
        an item of a list, which has no key, at the first line of the item. A value that
        comes from a YAML alias or merge stands where its anchor is defined.
        """
        extent = self._extent(path, part)
        return None if extent is None else _tree(self)[1].span(extent)

    def offset(self, path: KeyPath) -> int | None:
        """Return where in the text a value begins; None for an unknown path."""
        extent = self._extent(path, "value")
        return None if extent is None else extent[0]

    def _extent(self, path: KeyPath, part: Literal["key", "value"]) -> Extent | None:
        node = _descend(_tree(self)[0], path)
        if node is None:
            return None
        start, stop = node.value
        if node.key is not None and (
            part == "key" or not node.is_scalar or start == stop
        ):
            return node.key
        return node.value

    @property
    def lines(self) -> LineTable:
        """The lines of the file behind offsets of the text."""
        return LineTable(self.text)

    def raw(self, path: KeyPath) -> RawScalar | None:
        """Return a scalar as it is written.

        None for a mapping, a list, an unknown path.
        """
        node = _descend(_tree(self)[0], path)
        return None if node is None else node.raw(self.text)

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key path, in another file if that states it."""
        return Place(self.name, dotted(path), path, self.index)

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Return how the value at a path was worked out, or why not; None if plain."""
        del path
        return None

    @property
    def prefix(self) -> KeyPath:
        """Where `data` lies in the file: not empty for a part of a document."""
        return ()

    @property
    def own_data(self) -> object:
        """The part of `data` that stands in this file."""
        return self.data

    @property
    def fallbacks(self) -> Mapping[KeyPath, str]:
        """The conditions of values that hold only where a variable is not set."""
        return {}

    @property
    def unsure(self) -> frozenset[KeyPath]:
        """The keys whose values the file does not say."""
        return frozenset()

    @property
    def leaves_model_open(self) -> bool:
        """Whether other lines of its file make the model that is trained."""
        return False

    @property
    def judges_keys(self) -> bool:
        """Whether its keys are those of its format's table."""
        return True

    @property
    def declared_format(self) -> str:
        """The format that the language of the file says by itself; often nothing."""
        return ""

    @property
    def function(self) -> str:
        """The function of a program that gives it; empty for a file's own."""
        return ""

    @property
    def open_reason(self) -> str:
        """Why it may hold more keys than are seen; empty where it does not."""
        return ""

    def nodes(self) -> SourceNode:
        """Return the syntax tree's root, built anew; `span` keeps the last ones."""
        return self._find_nodes()


# A tree takes 15 times the size of its text or more, so that thousands of documents
# that kept theirs would cost more memory and garbage collection than building it again.
@lru_cache(maxsize=4)
def _tree(document: Document) -> tuple[SourceNode, LineTable]:
    return document.nodes(), document.lines


def _descend(root: SourceNode, path: KeyPath) -> SourceNode | None:
    node: SourceNode | None = root
    for step in path:
        if node is None:
            return None
        node = node.child(step)
    return node


def path_step(key: object) -> str | int:
    """Return the step of a key path that names a key."""
    if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
        return key
    return str(key)


# Of 588 published configurations the deepest, a Kubernetes training runtime, nests 16
# levels. Every walk over a document may recurse to this depth.
MAXIMUM_DEPTH = 100
# Duplicates are shown one by one: nobody reads more of them.
MAXIMUM_DUPLICATES = 1_000

_STRING_OR_BRACKET = lazy_pattern(r"\"(?:[^\"\\\n]++|\\.)*+\"?|([\[{])|([\]}])")
_LONG_INTEGER = lazy_pattern(r"\d[\d_]{4300}")


def too_deep(name: str, at: tuple[int, int] | None = None) -> ReadError:
    """Return the error for a text that nests deeper than the limit."""
    return ReadError(
        name,
        "too_deep",
        f"mappings and lists nest deeper than {MAXIMUM_DEPTH} levels",
        "give a training configuration: 16 levels are the most seen in one",
        at,
    )


def too_deep_in_brackets(name: str, text: str) -> ReadError:
    """Return the same error for JSON and TOML, whose brackets show the place."""
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        depth += bool(match[1]) - bool(match[2])
        if depth > MAXIMUM_DEPTH:
            return too_deep(name, LineTable(text).place(match.start()))
    return too_deep(name)


def long_integer(name: str, text: str) -> ReadError:
    """Return the error for an integer in a text that Python refuses to convert."""
    match = _LONG_INTEGER.search(text)
    return ReadError(
        name,
        "syntax",
        f"an integer of more than {sys.get_int_max_str_digits():,} digits",
        "correct the number",
        LineTable(text).place(match.start()) if match else None,
    )


def demand_depth(name: str, text: str, data: object) -> None:
    """Raise ReadError (too_deep) where the data of a text nest too deep."""
    level = [data]
    for _ in range(MAXIMUM_DEPTH):
        level = [
            child
            for container in level
            for child in _children(container)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise too_deep_in_brackets(name, text)


def _children(container: object) -> list[object]:
    if isinstance(container, dict):
        return list(container.values())
    return container if isinstance(container, list) else []


_REMEDY = "render it first (helm template, jinja, sed, envsubst) and pass the result"
_SHOWN = 60  # characters of a placeholder in a message

# Quoted texts and comments of YAML, JSON and TOML. Closing quotes may be missing, so
# that no text makes the search start over.
_QUOTED_OR_COMMENT = lazy_pattern(
    r"\"(?:[^\"\\]|\\.)*+\"?|(?<!\w)'[^']*+'?|(?:^|(?<=\s))(?:#|//).*"
)
_MARKER = lazy_pattern(r"\{\{|\{%")
# Where `{{` cannot be in the middle of a plain YAML scalar, which may hold it.
_MARKER_AT_START = lazy_pattern(r"(?:^\s*|[:=]\s+|-\s+|[\[,]\s*)(?:\{\{|\{%)")
_ENGINE_PLACEHOLDER = lazy_pattern(r"\{\{.*?\}\}|\{%.*?%\}|\{\{.*|\{%.*")
_PLACEHOLDER = lazy_pattern(
    r"\$\{[^}\n]*\}|\$\w+|%\(\w+\)\w?|<[A-Za-z]\w*>|@\w+@|__\w+__"
)
# DeepSpeed's examples leave ZERO_STAGE, CL_1st_MAX, QuantW_FORWARD for sed.
_BARE_WORD = lazy_pattern(r"\w*[A-Z]\w*")


def template_marker(text: str, lines: LineTable, line: int) -> int | None:
    """Return the offset of the `{{` or `{%` that explains an error at `line`, or None.

    It stands outside quotes and comments, on this line or the one before, or further up
    at the start of a value, where no language reads it as text.
    """
    if "{{" not in text and "{%" not in text:
        return None
    for number in range(line, 0, -1):
        row = lines.line(number)
        plain = _QUOTED_OR_COMMENT.sub(lambda item: " " * len(item[0]), row)
        pattern = _MARKER if number >= line - 1 else _MARKER_AT_START
        match = pattern.search(plain)
        if match is not None:
            return lines.offset(number) + match.end() - 2
    return None


def placeholder(text: str, offset: int, *, bare_words: bool) -> str | None:
    """Return the placeholder at an offset, also a bare word such as ZERO_STAGE."""
    match = _PLACEHOLDER.match(text, offset)
    if match is None and bare_words:
        match = _BARE_WORD.match(text, offset)
    return match[0] if match else None


def template_error(
    name: str, text: str, offset: int, word: str | None = None
) -> ReadError:
    """Return the error for a template, shown by what it leaves open at an offset."""
    if word is None:
        match = _ENGINE_PLACEHOLDER.match(text, offset)
        word = match[0] if match else text[offset : offset + 2]
    return ReadError(
        name,
        "template",
        f"a template, not a configuration yet: {word[:_SHOWN]} is not filled in",
        _REMEDY,
        LineTable(text).place(offset),
    )


class SectionDocument(Document):
    """The mapping below a key path; see `Document`."""

    __slots__ = ("_path", "_whole")

    def __init__(self, whole: Document, path: KeyPath) -> None:
        """Take the part of `whole` at `path`; empty when there is nothing."""
        super().__init__(
            name=whole.name,
            language=whole.language,
            text=whole.text,
            data=_below(whole.data, path),
            find_nodes=whole.nodes,
            index=whole.index,
            relaxed=whole.relaxed,
        )
        self._whole = whole
        self._path = path

    @property
    def lines(self) -> LineTable:
        """The lines of the file behind offsets of the text."""
        return self._whole.lines

    @property
    def prefix(self) -> KeyPath:
        """Where the part lies in its file."""
        return (*self._whole.prefix, *self._path)

    @property
    def own_data(self) -> object:
        """The part of `data` that stands in this file."""
        return _below(self._whole.own_data, self._path)

    @property
    def fallbacks(self) -> Mapping[KeyPath, str]:
        """The conditions of values that hold only where a variable is not set."""
        depth, whole = len(self._path), self._whole.fallbacks
        return {
            path[depth:]: whole[path] for path in whole if path[:depth] == self._path
        }

    @property
    def unsure(self) -> frozenset[KeyPath]:
        """The keys whose values the file does not say."""
        depth = len(self._path)
        return frozenset(
            path[depth:] for path in self._whole.unsure if path[:depth] == self._path
        )

    @property
    def open_reason(self) -> str:
        """Why it may hold more keys than are seen; empty where it does not."""
        return self._whole.open_reason

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Return where a key or a value stands; None for a path that does not exist."""
        return self._whole.span((*self._path, *path), part=part)

    def offset(self, path: KeyPath) -> int | None:
        """Return where in the text a value begins; None for an unknown path."""
        return self._whole.offset((*self._path, *path))

    def raw(self, path: KeyPath) -> RawScalar | None:
        """Return a scalar as it is written.

        None for a mapping, a list, an unknown path.
        """
        return self._whole.raw((*self._path, *path))

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key path, as the whole file names it."""
        return self._whole.place((*self._path, *path))

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Return how the value at a path was worked out, or why not; None if plain."""
        return self._whole.resolution((*self._path, *path))


def _below(data: object, path: KeyPath) -> object:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data
