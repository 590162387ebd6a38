"""YAML files: what PyYAML's safe loader makes of them, duplicate keys, and places.

The node graph is walked once, which takes half the time of `yaml.safe_load`, and let
go: places are asked for only where something was found, and then it is composed again.
"""

from functools import lru_cache, partial

from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.resolver import Resolver

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import (
    Document,
    Duplicate,
    Extent,
    KeyPath,
    LineTable,
    RawScalar,
    path_step,
)
from speccheck.validator.sources.documents.limits import (
    MAXIMUM_DEPTH,
    MAXIMUM_DUPLICATES,
    too_deep,
)
from speccheck.validator.sources.documents.yaml_errors import (
    collection_as_key,
    no_content,
    unreadable_scalar,
)
from speccheck.validator.sources.documents.yaml_nodes import (
    LONG_PLAIN,
    MERGE,
    PLAIN,
    TEXT,
    Expansion,
    compose,
    is_merge,
    merge_bases,
)

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
    """The documents of a YAML 1.1 text, without the empty ones.

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
        raise no_content(name)
    return documents


@lru_cache(maxsize=4_096)
def plain_scalar(text: str) -> object:
    """What YAML 1.1 means by an unquoted scalar: `no` is False, `2e-5` is text.

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
    """The first scalar of a text that is not quoted."""
    seen = {id(root)}
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, ScalarNode):
            if node.value == text and node.tag != TEXT:
                return node
            continue
        pairs = isinstance(node, MappingNode)
        children = (
            [child for pair in node.value for child in pair] if pairs else node.value
        )
        for child in reversed(children):
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
            found = _PROPERTIES.match(self._text, start, stop)
            start = found.end() if found else start
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
