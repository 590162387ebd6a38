"""The node graph of a YAML text, composed by libyaml without its traps.

libyaml composes by recursion in C, so that a deep text ends the process, and a few
hundred bytes of aliases write out to millions of nodes: both are measured first.
"""

import operator
from functools import lru_cache
from typing import TYPE_CHECKING

import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import (
    LineTable,
    ReadError,
)
from speccheck.validator.sources.documents.limits import (
    MAXIMUM_DEPTH,
    too_deep,
)
from speccheck.validator.sources.documents.template import template_error
from speccheck.validator.sources.documents.yaml_errors import syntax_error

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
        """Tell plain scalars from others."""
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
    """The root nodes of all documents; the same objects if asked again at once.

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
    """Whether a key is the `<<` that merges other mappings."""
    return key_node.tag == PLAIN and key_node.value == MERGE


def merge_bases(name: str, text: str, node: Node) -> list[MappingNode]:
    """The mappings that a `<<` names, the one that wins last.

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
        """The nodes and the levels under a node; fills `shared` with ids of nodes.

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
        for child in _children(node):
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


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    children: list[Node] = node.value
    return children
