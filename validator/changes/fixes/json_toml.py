"""Edits of TOML: pairs on lines of their own, and inline tables."""

import json
import math

from speccheck.validator.changes.fixes.edit import (
    CannotEdit,
    Edit,
    Edits,
    Extent,
    KeyChange,
    Listed,
    added_line,
    line_end,
    line_start,
    line_stop,
)
from speccheck.validator.changes.fixes.yaml import yaml_float
from speccheck.validator.evidence.finding import Scalar
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import (
    Document,
    SourceNode,
    TreeNode,
)

_JSON_COMMENT = lazy_pattern(r"(?s:/\*.*?\*/)|(?://|#)[^\r\n]*")


def json_edits(document: Document, step: KeyChange) -> Edits:
    """Return the edits that a step asks for; raises CannotEdit."""
    text = document.text
    holder, node, index = node_at(document, step)
    if step.kind == "set":
        if not node.is_scalar:
            message = "a mapping or list stands there, not one value"
            raise CannotEdit(message)
        return (Edit(*node.value, json_scalar(step.value)),)
    if step.kind == "rename":
        if node.key is None:
            message = "an item of a list has no key"
            raise CannotEdit(message)
        return (Edit(*node.key, json_scalar(step.name)),)
    items = [_extent(child) for child in (holder.children or {}).values()]
    start, end = holder.value
    listed = Listed(text, (start + 1, end - 1), items, _JSON_COMMENT)
    if items != sorted(items):
        message = "the same key stands there twice"
        raise CannotEdit(message)
    if step.kind == "remove":
        return listed.without(index)
    if step.kind == "add":
        colon = _between(text, node)
        written = f"{json_scalar(step.name)}{colon}{json_scalar(step.value)}"
        return listed.with_another(index, written)
    return listed.with_another(index, entry_text(text, node, step))


def node_at(document: Document, step: KeyChange) -> tuple[TreeNode, TreeNode, int]:
    """Return the mapping or list, the node in it, and which of its children that is."""
    holder: SourceNode | None = None
    node: SourceNode | None = document.nodes()
    for part in step.path:
        holder, node = node, node.child(part) if node is not None else None
    if not isinstance(node, TreeNode) or not isinstance(holder, TreeNode):
        message = "the key is not there any more"
        raise CannotEdit(message)
    index = list((holder.children or {}).values()).index(node)
    return holder, node, index


def entry_text(text: str, node: TreeNode, step: KeyChange) -> str:
    """Return a list's entry with another name and value, in the layout of this one."""
    parts: list[str] = []
    start, end = node.value
    for key, child in (node.children or {}).items():
        first, last = child.value
        wanted = step.value if key == "value" else step.name
        parts += [text[start:first], json_scalar(wanted)]
        start = last
    written = "".join([*parts, text[start:end]])
    if "//" in written or "#" in written or "/*" in written:
        message = "a comment stands in the entry beside it"
        raise CannotEdit(message)
    return written


def json_scalar(value: Scalar) -> str:
    """Return a value as JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        message = "JSON has no such number"
        raise CannotEdit(message)
    if isinstance(value, float):
        return yaml_float(value)  # PyYAML reads `2e-5` as a text, also from JSON
    return json.dumps(value, ensure_ascii=False)


def _extent(node: TreeNode) -> Extent:
    start = node.key[0] if node.key is not None else node.value[0]
    return start, node.value[1]


def _between(text: str, node: TreeNode) -> str:
    """Return what stands between a key and its value."""
    if node.key is None:
        message = "an item of a list has no key"
        raise CannotEdit(message)
    between = text[node.key[1] : node.value[0]]
    return between if not between.strip(" :\t") else ": "


_TOML_COMMENT = lazy_pattern(r"#[^\r\n]*")
_BEHIND = lazy_pattern(r"[ \t]*(?:#.*)?")
_BARE_KEY = lazy_pattern(r"[A-Za-z0-9_-]+")
# What stands before the last part of a key on its line: the other parts of it.
_OUTER_KEYS = lazy_pattern(
    r"[ \t]*(?:(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*)*"
)


def toml_edits(document: Document, step: KeyChange) -> Edits:
    """Return the edits that a step asks for; raises CannotEdit."""
    text = document.text
    holder, node, index = node_at(document, step)
    start, end = node.value
    if step.kind == "set":
        if not node.is_scalar or "\n" in text[start:end]:
            message = "a table, a list or several lines stand there, not one value"
            raise CannotEdit(message)
        return (Edit(start, end, toml_scalar(step.value, text[start:end])),)
    if step.kind == "rename" and node.key is not None:
        return (Edit(*node.key, _key(step.name, text[slice(*node.key)])),)
    if node.key is None or _is_table(text, node):
        return _of_list(text, holder, index, step)
    if _is_inline(text, holder, node):
        return _of_inline(text, holder, index, step)
    first = line_start(text, node.key[0])
    if not _OUTER_KEYS.fullmatch(text, first, node.key[0]):
        message = "something else stands on its line"
        raise CannotEdit(message)
    if step.kind == "remove":
        if not _BEHIND.fullmatch(text, end, line_stop(text, end)):
            message = "something else stands on its line"
            raise CannotEdit(message)
        return (Edit(first, line_end(text, end), ""),)
    if step.kind == "add":
        line = text[first : node.key[0]] + _pair(text, node, step)
        return (added_line(text, end, line),)
    message = "an entry of a list cannot be added there"
    raise CannotEdit(message)


def _is_table(text: str, node: TreeNode) -> bool:
    """Return whether a node is `[a.b]` or a prefix of dotted keys, without `=`."""
    if node.key is not None and node.value[0] <= node.key[0]:
        return True
    return not node.is_scalar and text[node.value[0]] not in "[{"


def _is_inline(text: str, holder: TreeNode, node: TreeNode) -> bool:
    start, end = holder.value
    is_inside = node.key is not None and start < node.key[0] < end
    return is_inside and text[start : start + 1] == "{"


def _of_inline(text: str, holder: TreeNode, index: int, step: KeyChange) -> Edits:
    children = list((holder.children or {}).values())
    node = children[index]
    items = [
        (child.key[0] if child.key else child.value[0], child.value[1])
        for child in children
    ]
    if items != sorted(items) or any("." in _before(text, child) for child in children):
        message = "it is written with dotted keys in an inline table"
        raise CannotEdit(message)
    listed = _listed(text, holder, items)
    if step.kind == "remove":
        return listed.without(index)
    return listed.with_another(index, _pair(text, node, step))


def _before(text: str, node: TreeNode) -> str:
    start = node.key[0] if node.key else node.value[0]
    return text[start - 1 : start]


def _of_list(text: str, holder: TreeNode, index: int, step: KeyChange) -> Edits:
    start, _ = holder.value
    children = list((holder.children or {}).values())
    is_array = text[start : start + 1] == "[" and not text.startswith("[[", start)
    if step.kind == "remove" and is_array and children[index].key is None:
        items = [child.value for child in children]
        if items and items == sorted(items) and items[0][0] > start:
            return _listed(text, holder, items).without(index)
    message = "it is a table, or an item of a list"
    raise CannotEdit(message)


def _listed(text: str, holder: TreeNode, items: list[Extent]) -> Listed:
    start, end = holder.value
    return Listed(text, (start + 1, end - 1), items, _TOML_COMMENT)


def _pair(text: str, node: TreeNode, step: KeyChange) -> str:
    if node.key is None:
        message = "an item of a list has no key"
        raise CannotEdit(message)
    between = text[node.key[1] : node.value[0]]
    equal = between if not between.strip(" =\t") else " = "
    old = text[slice(*node.value)] if node.is_scalar else ""
    name = _key(step.name, text[slice(*node.key)])
    return f"{name}{equal}{toml_scalar(step.value, old)}"


def _key(name: str, like: str) -> str:
    if like[:1] not in {"'", '"'} and _BARE_KEY.fullmatch(name):
        return name
    return toml_scalar(name, like)


def toml_scalar(value: Scalar, like: str = "") -> str:
    """Return a value as TOML, a text in the quotes of another."""
    if value is None:
        message = "TOML has no null"
        raise CannotEdit(message)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)  # inf and nan, too, are TOML's
    if like[:1] == "'" and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)
