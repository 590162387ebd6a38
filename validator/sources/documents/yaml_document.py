"""YAML files: what PyYAML's safe loader makes of them, duplicate keys, and places.

The node graph is walked once, which takes half the time of `yaml.safe_load`, and let
go: places are asked for only where something was found, and then it is composed again.
"""

import operator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.error import Mark, MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import Reader
from yaml.resolver import Resolver

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import (
    MAXIMUM_DEPTH,
    MAXIMUM_DUPLICATES,
    Document,
    Duplicate,
    Extent,
    KeyPath,
    LineTable,
    RawScalar,
    ReadError,
    path_step,
    template_error,
    template_marker,
    too_deep,
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
    """Return the parser's error as ours; a template if `{{` or `{%` explains it."""
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
    """Return where to correct the text: the start of an open quote or a lone word."""
    if error.context_mark is not None and any(
        part in (error.problem or "")
        for part in ("could not find expected ':'", "found unexpected end of stream")
    ):
        return error.context_mark
    return error.problem_mark or error.context_mark


def _problem(error: MarkedYAMLError, lines: LineTable) -> str:
    """Return the parser's complaint, and where the faulty item begins."""
    problem, context = error.problem or "", error.context or ""
    opened, mark = error.context_mark, _mark(error)
    if opened is None or (mark is not None and opened.line == mark.line):
        return problem or context
    line = lines.place(opened.index)[0]
    if "duplicate anchor" in context:
        return f"found duplicate anchor, first on line {line}"
    return f"{problem} ({context} that begins on line {line})"


def unreadable_scalar(name: str, text: str, node: Node, tag: str) -> ReadError:
    """Return the error for a number of YAML that Python cannot convert."""
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
    """Return an error for a mapping or list as a key: `{{ x }}` reads so."""
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


def _bad_start(name: str, word: str, place: tuple[int, int]) -> ReadError:
    if word == "\t":
        problem = "not YAML: a tab where only spaces may indent"
        return ReadError(name, "syntax", problem, "replace the tab by spaces", place)
    problem = f"not YAML: no value may begin with {word}"
    return ReadError(name, "syntax", problem, "quote the value", place)


def _unprintable(name: str, text: str, lines: LineTable) -> ReadError:
    match = Reader.NON_PRINTABLE.search(text)
    character = f"U+{ord(match[0]):04X}" if match else "one"
    return ReadError(
        name,
        "syntax",
        f"not YAML: control character {character}",
        "remove the character, or write it as an escape in double quotes",
        lines.place(match.start()) if match else None,
    )


if TYPE_CHECKING:
    from yaml import CSafeLoader as SafeLoader
else:
    try:
        from yaml import CSafeLoader as SafeLoader
    except ImportError:  # PyYAML was built without libyaml
        from yaml import SafeLoader

# Nodes that aliases may add when they are written out: 434 are the most in 520
# published files; nine lists of nine aliases each ("billion laughs") give 387 million.
MAXIMUM_ALIAS_NODES = 100_000
# Published files hold up to 3 documents, and rendered Helm charts some hundreds.
MAXIMUM_DOCUMENTS = 10_000

# What stands in for the tags that PyYAML would resolve while it composes: most texts
# repeat, so that a cache resolves them faster. A plain scalar may mean anything, a
# quoted or block scalar is text.
PLAIN = ""
LONG_PLAIN = "long plain"  # kept out of the cache
TEXT = "tag:yaml.org,2002:str"
MERGE = "<<"
_LONG = 64  # characters

# libyaml (0.2.5) overflows an 8 MiB stack below 100,000 levels. A text under both of
# these numbers nests at most 200 levels in brackets and, as a list may stand at the
# column of its key, 2 * 100 in indentation.
_UNGUARDED_BRACKETS = 200
_INDENTED_DEEPLY = lazy_pattern(r"\n[ \t\-?:]{100}")
# Line breaks of YAML 1.1 besides LF and CR LF: rare enough to be guarded against.
_RARE_BREAKS = lazy_pattern(r"\r(?!\n)|[\x85\u2028\u2029]")
# The graphs of the last files, for places asked for right after loading; a graph takes
# 15 times the text's size or more.
_GRAPHS_KEPT = 4
_LARGEST_GRAPH_KEPT = 200_000  # characters of text


class _Composer(SafeLoader):
    """Composes nodes and leaves the resolving of tags to the walk."""

    def resolve(self, kind: type[Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Distinguish plain scalars from others."""
        if kind is ScalarNode and implicit[0]:
            return PLAIN if len(value) <= _LONG else LONG_PLAIN
        return TEXT

    if not TYPE_CHECKING:
        # No tag depends on where a node stands. The composer calls both for each of
        # the nodes: what does nothing does it fastest in C.
        descend_resolver = operator.is_
        ascend_resolver = bool


class _NestedTooDeep(Exception):  # noqa: N818 - turned into a ReadError at once
    """Composing would recurse too deep."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _TooManyDocuments(Exception):  # noqa: N818 - turned into a ReadError at once
    """The text holds more documents than anybody means to give."""


class _GuardedComposer(_Composer):
    """Composes texts that may nest deep; a fifth slower."""

    depth = 0

    def descend_resolver(
        self,
        current_node: Node | None,
        current_index: object,  # noqa: ARG002 - the composer passes it
    ) -> None:
        """Count a level; scalars count as one too."""
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH + 1 and current_node is not None:
            raise _NestedTooDeep(current_node.start_mark.index)

    def ascend_resolver(self) -> None:
        """Count a level less."""
        self.depth -= 1


def compose(name: str, text: str) -> tuple[Node, ...]:
    """Return all documents' root nodes; the same objects on the next call.

    Raises:
        ReadError: the text is not YAML, is a template, or nests too deep.
    """
    try:
        if len(text) <= _LARGEST_GRAPH_KEPT:
            return _compose_and_keep(text)
        return _compose(text)
    except _NestedTooDeep as error:
        raise too_deep(name, LineTable(text).place(error.offset)) from None
    except _TooManyDocuments:
        problem = f"more than {MAXIMUM_DOCUMENTS:,} documents in one file"
        raise ReadError(name, "too_large", problem, "split the file") from None
    except UnicodeEncodeError as error:  # half of a surrogate pair, from standard input
        raise ReadError(
            name,
            "encoding",
            "the text holds bytes that are not UTF-8",
            "save the file as UTF-8",
            LineTable(text).place(error.start),
        ) from error
    except yaml.YAMLError as error:
        raise syntax_error(name, text, error) from error


def _compose(text: str) -> tuple[Node, ...]:
    loader = (_GuardedComposer if _may_nest_deep(text) else _Composer)(text)
    nodes: list[Node] = []
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                nodes.append(node)
            if len(nodes) > MAXIMUM_DOCUMENTS:
                raise _TooManyDocuments
    finally:
        loader.dispose()
    return tuple(nodes)


def _may_nest_deep(text: str) -> bool:
    return (
        issubclass(_Composer, Composer)  # in Python, with its limit on recursion
        or text.count("[") + text.count("{") > _UNGUARDED_BRACKETS
        or _INDENTED_DEEPLY.search("\n" + text) is not None
        or (
            ("\r" in text or not text.isascii())
            and _RARE_BREAKS.search(text) is not None
        )
    )


_compose_and_keep = lru_cache(maxsize=_GRAPHS_KEPT)(_compose)


def is_merge(key_node: Node) -> bool:
    """Return whether a key is the `<<` that merges other mappings."""
    return key_node.tag == PLAIN and key_node.value == MERGE


def merge_bases(name: str, text: str, node: Node) -> list[MappingNode]:
    """Return the mappings that a `<<` names, the one that wins last.

    Raises:
        ReadError: they are no mappings.
    """
    listed = [node] if isinstance(node, MappingNode | ScalarNode) else node.value[::-1]
    bases = [base for base in listed if isinstance(base, MappingNode)]
    if len(bases) < len(listed):
        if text[node.start_mark.index :].startswith("{{"):
            raise template_error(name, text, node.start_mark.index)
        raise ReadError(
            name,
            "syntax",
            "<< merges something that is not a mapping",
            "give << an alias of a mapping, or a list of such aliases",
            LineTable(text).place(node.start_mark.index),
        )
    return bases


class Expansion:
    """How large and how deep a document is with its aliases written out."""

    def __init__(self, name: str, text: str) -> None:
        """Take the file's name and text, for errors."""
        self.shared: set[int] = set()
        self._name = name
        self._text = text
        self._visited = 0
        self._sizes: dict[int, tuple[int, int] | None] = {}  # None: not left yet

    def measure(self, node: Node, depth: int = 1) -> tuple[int, int]:
        """Return the nodes and the levels under a node.

        Fills `shared` with ids of nodes.

        Raises:
            ReadError: it is too large or too deep, or holds itself.
        """
        if isinstance(node, ScalarNode):
            self._visited += 1
            return 1, 0
        if id(node) in self._sizes:
            return self._measured(node, depth)
        if depth > MAXIMUM_DEPTH:
            raise too_deep(self._name, self._place(node))
        self._sizes[id(node)] = None
        self._visited += 1
        size, height = 1, 0
        for child in _child_nodes(node):
            child_size, child_height = self.measure(child, depth + 1)
            size += child_size
            height = max(height, child_height)
            if size > self._visited + MAXIMUM_ALIAS_NODES:
                raise self._too_many(node, f"write out to over {MAXIMUM_ALIAS_NODES:,}")
        self._sizes[id(node)] = size, height + 1
        return size, height + 1

    def _measured(self, node: Node, depth: int) -> tuple[int, int]:
        known = self._sizes[id(node)]
        if known is None:
            raise self._too_many(node, "hold themselves: no end of")
        if depth + known[1] - 1 > MAXIMUM_DEPTH:
            raise too_deep(self._name, self._place(node))
        self.shared.add(id(node))
        return known

    def _place(self, node: Node) -> tuple[int, int]:
        return LineTable(self._text).place(node.start_mark.index)

    def _too_many(self, node: Node, extent: str) -> ReadError:
        return ReadError(
            self._name,
            "too_many_aliases",
            f"the aliases under this node {extent} nodes",
            "write the values out instead of nesting aliases",
            self._place(node),
        )


def _child_nodes(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    children: list[Node] = node.value
    return children


_CONSTRUCTED_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float")
)
_RESOLVER = Resolver()
_CONSTRUCTOR = SafeConstructor()
# Anchor and tag, which the extent of a node includes.
_PROPERTIES = lazy_pattern(r"(?:(?:!<[^>]*>|[&!][^\s\[\]{},\"']*)\s*)+")


class _UnreadableScalar(ValueError):  # noqa: N818 - turned into a ReadError at once
    """A scalar that cannot be what its tag says."""

    def __init__(self, tag: str, text: str) -> None:
        super().__init__(tag, text)
        self.tag = tag
        self.text = text


def load_yaml(name: str, text: str) -> list[Document]:
    """Return the documents of a YAML 1.1 text, without the empty ones.

    Raises:
        ReadError: the text is not YAML, is a template, nests or expands too far, or
            holds nothing.
    """
    documents = []
    for index, root in enumerate(compose(name, text)):
        builder = _Builder(name, text)
        data = builder.build(root)
        if data is not None:
            document = Document(
                name=name,
                language="yaml",
                text=text,
                data=data,
                find_nodes=partial(_document_node, name, text, index),
                index=index,
                duplicates=tuple(builder.duplicates),
            )
            documents.append(document)
    if not documents:
        problem = "no value in it, only comments or empty documents"
        raise ReadError(name, "empty", problem, "give a file that states something")
    return documents


@lru_cache(maxsize=4_096)
def plain_scalar(text: str) -> object:
    """Return what YAML 1.1 means by an unquoted scalar: `no` is False, `2e-5` is text.

    Timestamps keep their text. Raises ValueError for a number that Python does not
    convert (`0b_`, over 4,300 digits).
    """
    if text[:1] not in Resolver.yaml_implicit_resolvers:
        return text
    tag = _RESOLVER.resolve(ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return _construct(tag, text)


def _scalar(node: Node) -> object:
    if node.tag == TEXT:
        return node.value
    if node.tag == PLAIN:
        return plain_scalar(node.value)
    if node.tag == LONG_PLAIN:
        return plain_scalar.__wrapped__(node.value)
    return _construct(node.tag, node.value)


def _construct(tag: str, text: str) -> object:
    if tag not in _CONSTRUCTED_TAGS:
        return text
    construct = SafeConstructor.yaml_constructors[tag]
    try:
        value: object = construct(_CONSTRUCTOR, ScalarNode(tag, text))
    except (ValueError, KeyError, IndexError) as error:
        raise _UnreadableScalar(tag, text) from error
    return value


class _Builder:
    """Makes plain data of the nodes of one document."""

    __slots__ = ("_built", "_lines", "_name", "_text", "duplicates")

    def __init__(self, name: str, text: str) -> None:
        self.duplicates: list[Duplicate] = []
        self._name = name
        self._text = text
        self._lines: LineTable | None = None
        self._built: dict[int, object] = {}  # of nodes with aliases; None until built

    def build(self, root: Node) -> object:
        if "*" in self._text and "&" in self._text:
            expansion = Expansion(self._name, self._text)
            expansion.measure(root)
            self._built.update(dict.fromkeys(expansion.shared))
        try:
            return self._node(root, ())
        except _UnreadableScalar as error:
            node = _find_scalar(root, error.text) or root
            tag = error.tag.rpartition(":")[2]
            raise unreadable_scalar(self._name, self._text, node, tag) from error

    def _node(self, node: Node, path: KeyPath) -> object:
        if type(node) is ScalarNode:
            return _scalar(node)
        if len(path) >= MAXIMUM_DEPTH:
            place = LineTable(self._text).place(node.start_mark.index)
            raise too_deep(self._name, place)
        built = self._built.get(id(node))
        if built is None:
            if type(node) is MappingNode:
                built = self._mapping(node, path)
            else:
                built = self._sequence(node, path)
            if id(node) in self._built:
                self._built[id(node)] = built
        return built

    def _sequence(self, node: Node, path: KeyPath) -> list[object]:
        return [
            plain_scalar(item.value)
            if item.tag == PLAIN and type(item) is ScalarNode
            else self._node(item, (*path, index))
            for index, item in enumerate(node.value)
        ]

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[object, object]:
        result: dict[object, object] = {}
        merges: list[Node] = []
        for key_node, item in node.value:
            if key_node.tag != PLAIN:
                key = self._other_key(key_node)
            elif key_node.value == MERGE:
                merges.append(item)
                continue
            else:
                key = plain_scalar(key_node.value)
            if type(item) is not ScalarNode:
                result[key] = self._node(item, (*path, path_step(key)))
            elif item.tag == PLAIN:
                result[key] = plain_scalar(item.value)
            else:
                result[key] = _scalar(item)
        if len(result) + len(merges) < len(node.value):
            self._note_duplicates(node, path)
        return self._merged(merges, result, path) if merges else result

    def _other_key(self, key_node: Node) -> object:
        if type(key_node) is not ScalarNode:
            raise collection_as_key(self._name, self._text, key_node)
        return _scalar(key_node)

    def _merged(
        self, merges: list[Node], own: dict[object, object], path: KeyPath
    ) -> dict[object, object]:
        result: dict[object, object] = {}
        for merge in merges:
            for base in merge_bases(self._name, self._text, merge):
                built = self._node(base, (*path, MERGE))
                if isinstance(built, dict):
                    result.update(built)
        result.update(own)
        return result

    def _note_duplicates(self, node: MappingNode, path: KeyPath) -> None:
        if self._lines is None:
            self._lines = LineTable(self._text)
        lines = self._lines
        first: dict[object, Node] = {}
        for key_node, _ in node.value:
            if len(self.duplicates) >= MAXIMUM_DUPLICATES:
                return
            key = _scalar(key_node)
            earlier = first.setdefault(key, key_node)
            if earlier is not key_node and not is_merge(key_node):
                spans = (lines.span(_extent(earlier)), lines.span(_extent(key_node)))
                self.duplicates.append(Duplicate((*path, path_step(key)), *spans))


def _find_scalar(root: Node, text: str) -> Node | None:
    """Return the first scalar of a text that is not quoted."""
    seen = {id(root)}
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, ScalarNode):
            if node.value == text and node.tag != TEXT:
                return node
            continue
        for child in reversed(_child_nodes(node)):
            if id(child) not in seen:
                seen.add(id(child))
                pending.append(child)
    return None


def _extent(node: Node) -> Extent:
    return node.start_mark.index, node.end_mark.index


def _document_node(name: str, text: str, index: int) -> "_YamlNode":
    return _YamlNode(name, text, compose(name, text)[index], None)


class _YamlNode:
    """A node of the graph, as `SourceNode`; children are found when asked for."""

    __slots__ = ("_children", "_key_node", "_name", "_node", "_text")

    def __init__(self, name: str, text: str, node: Node, key_node: Node | None) -> None:
        self._name = name
        self._text = text
        self._node = node
        self._key_node = key_node
        self._children: dict[str | int, _YamlNode] | None = None

    @property
    def key(self) -> Extent | None:
        return None if self._key_node is None else self._bare_extent(self._key_node)

    @property
    def value(self) -> Extent:
        return self._bare_extent(self._node)

    @property
    def is_scalar(self) -> bool:
        return isinstance(self._node, ScalarNode)

    def child(self, step: str | int) -> "_YamlNode | None":
        if self._children is None:
            self._children = _children(self._name, self._text, self._node)
        return self._children.get(step)

    def raw(self, text: str) -> RawScalar | None:
        node = self._node
        if not isinstance(node, ScalarNode):
            return None
        start, stop = self._bare_extent(node)
        if not node.style:
            return RawScalar(text[start:stop], quoted=False)
        if node.style in "'\"":
            return RawScalar(text[start + 1 : stop - 1], quoted=True)
        return RawScalar(node.value, quoted=True)

    def _bare_extent(self, node: Node) -> Extent:
        start, stop = _extent(node)
        if self._text[start : start + 1] in {"&", "!"}:
            match = _PROPERTIES.match(self._text, start, stop)
            start = match.end() if match else start
        return start, stop


def _children(name: str, text: str, node: Node) -> dict[str | int, _YamlNode]:
    if isinstance(node, SequenceNode):
        return {
            index: _YamlNode(name, text, item, None)
            for index, item in enumerate(node.value)
        }
    own: dict[str | int, _YamlNode] = {}
    merged: dict[str | int, _YamlNode] = {}
    for key_node, item in node.value if isinstance(node, MappingNode) else ():
        child = _YamlNode(name, text, item, key_node)
        if is_merge(key_node):
            merged[MERGE] = child
            for base in merge_bases(name, text, item):
                merged.update(_children(name, text, base))
        else:
            own[path_step(_scalar(key_node))] = child
    return merged | own
