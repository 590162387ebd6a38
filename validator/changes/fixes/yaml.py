"""Edits of YAML by the node graph: keys, values and entries, all else untouched."""

import json
import math
from collections import Counter
from collections.abc import Iterator

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

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
from speccheck.validator.evidence.finding import Scalar
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import path_step
from speccheck.validator.sources.documents.yaml_document import (
    PLAIN,
    compose,
    is_merge,
    plain_scalar,
)

# Texts that no place in a block or between brackets takes for anything else.
_PLAIN = lazy_pattern(
    r"-{0,2}[A-Za-z0-9_./][A-Za-z0-9_./@%+=~^-]*(?: [A-Za-z0-9_./=+-]+)*"
)
# Words for true and false, of which a file keeps to one pair.
_PAIRS = (
    *(("true", "false"), ("True", "False"), ("TRUE", "FALSE")),
    *(("yes", "no"), ("Yes", "No"), ("YES", "NO")),
    *(("on", "off"), ("On", "Off"), ("ON", "OFF")),
)


def yaml_scalar(value: Scalar, like: str = "") -> str:
    """Return a value as it is written, in the style of another that stands there.

    Args:
        value: what a YAML 1.1 loader has to read.
        like: the scalar that shows the quotes, or the words for true and false.
    """
    if isinstance(value, str):
        return _text(value, like[:1])
    if isinstance(value, bool):
        pair = next((pair for pair in _PAIRS if like in pair), _PAIRS[0])
        return pair[0] if value else pair[1]
    if value is None:
        return "~" if like == "~" else "null"
    if isinstance(value, int):
        return str(value)
    return _respelt(value, like.strip("\"'")) or yaml_float(value)


def _respelt(value: float, text: str) -> str:
    """Return digits that stand there, with the point and the sign that they lack."""
    mantissa, letter, power = text.replace("E", "e").partition("e")
    point = "" if "." in mantissa else ".0"
    sign = "" if power[:1] in {"+", "-"} else "+"
    respelt = f"{mantissa}{point}e{sign}{power}"
    return respelt if letter and plain_scalar(respelt) == value else ""


def yaml_float(value: float) -> str:
    """Return a float with the point and the exponent's sign that YAML 1.1 asks for."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    mantissa, exponent, power = repr(value).partition("e")
    if not exponent:
        return mantissa
    point = "" if "." in mantissa else ".0"
    return f"{mantissa}{point}e{int(power):+}"


def _text(value: str, quote: str) -> str:
    if not value.isprintable():
        message = "the value holds characters that only an escape could write"
        raise CannotEdit(message)
    if quote == "'":
        return "'" + value.replace("'", "''") + "'"
    if quote != '"' and _PLAIN.fullmatch(value) and plain_scalar(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


_COMMENT = lazy_pattern(r"#[^\r\n]*")
_PROPERTY = lazy_pattern(r"&[^\s\[\]{},]+[ \t]*")


class _Spot(Record):
    """Where a step of a path leads: the pair or the item, and what holds it."""

    holder: Node
    at: int
    key: Node | None
    value: Node


def yaml_edits(name: str, text: str, document: int, step: KeyChange) -> Edits:
    """Return the edits that a step asks for; raises CannotEdit."""
    return _Editor(text, compose(name, text)[document]).edits(step)


class _Editor:
    """Edits of one document."""

    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.root = root
        self.references = Counter(map(id, _nodes(root)))

    def edits(self, step: KeyChange) -> Edits:
        """Return the edits of one step."""
        spots = self._spots(step)
        spot = spots[-1]
        if step.kind == "set":
            return (self._set(spot, step),)
        if step.kind == "rename":
            return (self._renamed(spot, step.name),)
        if step.kind == "remove":
            return self._removed(spots)
        if step.kind == "add":
            return self._added(spot, step)
        return self._added_entry(spot, step)

    def _spots(self, step: KeyChange) -> list[_Spot]:
        """Return what the path leads through.

        What is changed may not stand elsewhere too.
        """
        node = self.root
        spots: list[_Spot] = []
        for part in step.path:
            spot = _spot(node, part)
            spots.append(spot)
            node = spot.value
            is_kept = step.kind in {"add", "rename"} and len(spots) == len(step.path)
            if self.references[id(node)] > 1 and not is_kept:
                message = "an anchor (&) gives the value to other places as well"
                raise CannotEdit(message)
        if not spots:
            message = "it is the whole document"
            raise CannotEdit(message)
        return spots

    def _set(self, spot: _Spot, step: KeyChange) -> Edit:
        start, end = self._scalar(spot.value)
        old = self.text[start:end]
        written = yaml_scalar(step.value, old)
        if start == end:
            written = f" {written}"
        return Edit(start, end, written)

    def _scalar(self, node: Node) -> Extent:
        """Return where a scalar of one line stands, without its anchor."""
        if not isinstance(node, ScalarNode):
            message = "a mapping or list stands there, not one value"
            raise CannotEdit(message)
        start, end = node.start_mark.index, node.end_mark.index
        match = _PROPERTY.match(self.text, start, end)
        start = match.end() if match else start
        if self.text[start : start + 1] == "!":
            message = "the value has a tag (!) that says its type"
            raise CannotEdit(message)
        if node.style in {"|", ">"} or "\n" in self.text[start:end]:
            message = "the value runs over several lines"
            raise CannotEdit(message)
        return start, end

    def _renamed(self, spot: _Spot, name: str) -> Edit:
        if spot.key is None:
            message = "an item of a list has no key"
            raise CannotEdit(message)
        start, end = self._scalar(spot.key)
        return Edit(start, end, yaml_scalar(name, self.text[start:end]))

    def _removed(self, spots: list[_Spot]) -> Edits:
        spot = spots[-1]
        if any(self.references[id(node)] > 1 for node in _nodes(spot.value)):
            message = "it holds an anchor (&) or an alias (*)"
            raise CannotEdit(message)
        if _is_flow(spot.holder):
            return self._listed(spot.holder).without(spot.at)
        start, end = self._extent(spot)
        if len(spot.holder.value) == 1:
            return self._emptied(spots, start, end)
        if not self._stands_alone(start, end):
            return (self._first_of_entry(spot, start, end),)
        return (Edit(line_start(self.text, start), line_end(self.text, end), ""),)

    def _extent(self, spot: _Spot) -> Extent:
        """Return the extent from the key, or from the dash, to the end of the value."""
        end = self._end(spot.value)
        if spot.key is not None:
            return spot.key.start_mark.index, max(end, spot.key.end_mark.index)
        first = spot.value.start_mark.index
        dash = self.text.rfind("-", line_start(self.text, first), first)
        if dash < 0:
            message = "its dash stands on another line"
            raise CannotEdit(message)
        return dash, end

    def _end(self, node: Node) -> int:
        """Return where what a node states ends: blank lines and comments follow."""
        if not isinstance(node, ScalarNode) and not _is_flow(node) and node.value:
            last = node.value[-1]
            return self._end(last[1] if isinstance(node, MappingNode) else last)
        start, end = node.start_mark.index, node.end_mark.index
        return max(start, start + len(self.text[start:end].rstrip()))

    def _stands_alone(self, start: int, end: int) -> bool:
        """Return whether nothing but a comment shares its lines."""
        before = self.text[line_start(self.text, start) : start]
        behind = self.text[end : line_stop(self.text, end)].removeprefix(":").lstrip()
        return not before.strip() and behind[:1] in {"", "#"}

    def _first_of_entry(self, spot: _Spot, start: int, end: int) -> Edit:
        """Remove the first key of `- key: value`: the next takes its place."""
        before = self.text[line_start(self.text, start) : start]
        if not before.strip(" -") and spot.at == 0 and spot.key is not None:
            following = spot.holder.value[1][0].start_mark.index
            if not self.text[end:following].strip():
                return Edit(start, following, "")
        message = "something else stands on its line"
        raise CannotEdit(message)

    def _emptied(self, spots: list[_Spot], start: int, end: int) -> Edits:
        """Remove all that a mapping or list holds: `{}` or `[]` is left of it."""
        above = spots[-2] if len(spots) > 1 else None
        if above is None or above.key is None or not self._stands_alone(start, end):
            message = "it is all that stands there"
            raise CannotEdit(message)
        colon = self.text.index(":", above.key.end_mark.index) + 1
        empty = " {}" if isinstance(spots[-1].holder, MappingNode) else " []"
        first = line_start(self.text, start)
        if colon > first:
            message = "something else stands on its line"
            raise CannotEdit(message)
        return (
            Edit(colon, colon, empty),
            Edit(first, line_end(self.text, end), ""),
        )

    def _added(self, spot: _Spot, step: KeyChange) -> Edits:
        if spot.key is None:
            message = "an item of a list has no key"
            raise CannotEdit(message)
        key_start, key_end = self._scalar(spot.key)
        name = yaml_scalar(step.name, self.text[key_start:key_end])
        beside = ""
        if isinstance(spot.value, ScalarNode) and isinstance(step.value, str | bool):
            start, end = spot.value.start_mark.index, spot.value.end_mark.index
            beside = self.text[start:end]
        written = f"{name}: {yaml_scalar(step.value, beside)}"
        if _is_flow(spot.holder):
            return self._listed(spot.holder).with_another(spot.at, written)
        indentation = " " * (key_start - line_start(self.text, key_start))
        _, end = self._extent(spot)
        return (added_line(self.text, end, indentation + written),)

    def _added_entry(self, spot: _Spot, step: KeyChange) -> Edits:
        """Return an entry of a list in the layout of the one before it."""
        parts: list[str] = []
        start = position = spot.value.start_mark.index
        for key, value in spot.value.value:
            wanted = step.value if key.value == "value" else step.name
            first, last = self._scalar(value)
            old = self.text[first:last]
            parts += [self.text[position:first], yaml_scalar(wanted, old)]
            position = last
        if _is_flow(spot.holder):
            end = spot.value.end_mark.index
            written = "".join([*parts, self.text[position:end]])
            return self._listed(spot.holder).with_another(spot.at, written)
        end = self._end(spot.value)
        if _COMMENT.search(self.text, start, end) and not _is_flow(spot.value):
            message = "a comment stands in the entry beside it"
            raise CannotEdit(message)
        dash, _ = self._extent(spot)
        first = line_start(self.text, dash)
        written = "".join([*parts, self.text[position:end]])
        return (added_line(self.text, end, self.text[first:start] + written),)

    def _listed(self, holder: Node) -> Listed:
        inside = holder.start_mark.index, holder.end_mark.index - 1
        opening = "{" if isinstance(holder, MappingNode) else "["
        first = self.text.index(opening, inside[0]) + 1
        if isinstance(holder, MappingNode):
            items = [
                (key.start_mark.index, max(key.end_mark.index, value.end_mark.index))
                for key, value in holder.value
            ]
        else:
            items = [
                (item.start_mark.index, item.end_mark.index) for item in holder.value
            ]
        if any(start < first for start, _ in items) or items != sorted(items):
            message = "an alias (*) stands beside it"
            raise CannotEdit(message)
        return Listed(self.text, (first, inside[1]), items, _COMMENT)


def _is_flow(node: Node) -> bool:
    """Return whether a mapping or list stands in brackets."""
    return isinstance(node, MappingNode | SequenceNode) and bool(node.flow_style)


def _spot(node: Node, step: str | int) -> _Spot:
    if isinstance(node, SequenceNode):
        if isinstance(step, int) and step < len(node.value):
            return _Spot(node, step, None, node.value[step])
    elif isinstance(node, MappingNode):
        # Of equal keys the last one counts.
        for index in range(len(node.value) - 1, -1, -1):
            key, value = node.value[index]
            if not is_merge(key) and path_step(_scalar_of(key)) == step:
                return _Spot(node, index, key, value)
        if any(is_merge(key) for key, _ in node.value):
            message = "the key comes from another mapping by a merge (<<)"
            raise CannotEdit(message)
    message = "the key is not there any more"
    raise CannotEdit(message)


def _scalar_of(key: Node) -> object:
    return plain_scalar(key.value) if key.tag == PLAIN else key.value


def _nodes(root: Node) -> Iterator[Node]:
    """Yield each node as often as something holds it; what it holds only once."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if id(node) in seen or isinstance(node, ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            waiting += [item for pair in node.value for item in pair]
        else:
            waiting += node.value
