"""Edits of JSON, also of JSON with comments and trailing commas."""

import json
import math

from speccheck.validator.changes.fixes.edit import CannotEdit, Edit, Edits
from speccheck.validator.changes.fixes.listed import Extent, Listed
from speccheck.validator.changes.fixes.step import Step
from speccheck.validator.changes.fixes.yaml_scalar import yaml_float
from speccheck.validator.evidence.finding import Scalar
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import (
    Document,
    SourceNode,
    TreeNode,
)

_COMMENT = lazy_pattern(r"(?s:/\*.*?\*/)|(?://|#)[^\r\n]*")


def json_edits(document: Document, step: Step) -> Edits:
    """The edits that a step asks for; raises CannotEdit."""
    text = document.text
    holder, node, index = found_at(document, step)
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
    items = [_extent(one) for one in (holder.children or {}).values()]
    start, end = holder.value
    listed = Listed(text, (start + 1, end - 1), items, _COMMENT)
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


def found_at(document: Document, step: Step) -> tuple[TreeNode, TreeNode, int]:
    """The mapping or list, the node in it, and which of its children that is."""
    holder: SourceNode | None = None
    node: SourceNode | None = document.nodes()
    for part in step.path:
        holder, node = node, node.child(part) if node is not None else None
    if not isinstance(node, TreeNode) or not isinstance(holder, TreeNode):
        message = "the key is not there any more"
        raise CannotEdit(message)
    index = list((holder.children or {}).values()).index(node)
    return holder, node, index


def entry_text(text: str, node: TreeNode, step: Step) -> str:
    """An entry of a list with another name and value, in the layout of this one."""
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
    """A value as JSON."""
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
    """What stands between a key and its value."""
    if node.key is None:
        message = "an item of a list has no key"
        raise CannotEdit(message)
    between = text[node.key[1] : node.value[0]]
    return between if not between.strip(" :\t") else ": "
