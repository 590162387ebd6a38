"""Edits of a text: stretches, and what takes their place."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from speccheck.validator.evidence.finding import Change, Scalar
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import path_step

_LINE_END = lazy_pattern(r"\r?\n")


class Edit(Record):
    """The characters from start to end become `text`; offsets are those of the text."""

    start: int
    end: int
    text: str


Edits = tuple[Edit, ...]


class CannotEdit(Exception):  # noqa: N818 - a fact about the text, told to the user
    """A change that is not made by an edit; the message says why."""


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text after edits that do not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def overlaps(edits: Sequence[Edit], others: Iterable[Edit]) -> bool:
    """Return whether edits touch the same characters, or the same gap between two."""
    return any(
        first.start <= other.end and other.start <= first.end
        for other in others
        for first in edits
    )


def crosses(edits: Sequence[Edit]) -> bool:
    """Return whether two of several edits in a row change the same characters."""
    return any(following.start < edit.end for edit, following in pairwise(edits))


def line_start(text: str, offset: int) -> int:
    """Return the offset at which the line of an offset begins."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Return the offset behind the line of an offset, its line end included."""
    number = text.find("\n", offset)
    return len(text) if number < 0 else number + 1


def line_stop(text: str, offset: int) -> int:
    """Return the offset at which the line of an offset ends, before its line end."""
    end = line_end(text, offset)
    match = _LINE_END.search(text, line_start(text, offset), end)
    return match.start() if match else end


def newline(text: str, offset: int) -> str:
    """Return the line end at an offset, or of the line before a last one."""
    stop, end = line_stop(text, offset), line_end(text, offset)
    if end > stop:
        return text[stop:end]
    match = _LINE_END.search(text)
    return match[0] if match else "\n"


def added_line(text: str, offset: int, line: str) -> Edit:
    """Return a line behind that of an offset; a last line without line end gets one."""
    stop = line_stop(text, offset)
    return Edit(stop, stop, newline(text, offset) + line)


Extent = tuple[int, int]


class Listed:
    """The items of a mapping or a list, where they stand, and the bracket around."""

    def __init__(
        self,
        text: str,
        inside: Extent,
        items: Sequence[Extent],
        comment: re.Pattern[str],
    ) -> None:
        """Take where things stand.

        Args:
            text: the whole text.
            inside: the extent between the brackets.
            items: extents of the items, each from its key to the end of its value.
            comment: what a comment is between items.
        """
        self.text = text
        self.inside = inside
        self.items = items
        # Comments as blanks, so that no comma of theirs is taken for a separator.
        self._blanked = _blanked(text, inside, items, comment)

    def without(self, index: int) -> Edits:
        """Remove an item with its comma; a line that it has to itself goes whole."""
        start, end = self.items[index]
        if len(self.items) == 1:
            return (Edit(*self._all(), ""),)
        comma = self._comma_behind(end)
        before = self._comma_before(start) if index else None
        if self._has_own_lines(index):
            lines = Edit(line_start(self.text, start), line_end(self.text, end), "")
            if comma is None and before is not None:
                return (Edit(before, before + 1, ""), lines)
            return (lines,)
        if before is not None:
            return (Edit(before, end, ""),)
        following = self.items[1][0]
        if line_end(self.text, end) <= following and comma is not None:
            return (Edit(start, comma + 1, ""),)
        return (Edit(start, following, ""),)

    def with_another(self, index: int, written: str) -> Edits:
        """Add an item behind one, on a line of its own where that one has one."""
        start, end = self.items[index]
        if not self._has_own_lines(index):
            return (Edit(end, end, f", {written}"),)
        text = self.text
        indentation = text[line_start(text, start) : start]
        stop = line_stop(text, end)
        line = newline(text, end) + indentation + written
        if self._comma_behind(end) is not None:
            return (Edit(stop, stop, f"{line},"),)
        if stop == end:
            return (Edit(end, end, f",{line}"),)
        return (Edit(end, end, ","), Edit(stop, stop, line))

    def _all(self) -> Extent:
        """Return what is between the brackets; only the item if comments are there."""
        start, end = self.inside
        if self._blanked == self.text[start:end]:
            return start, end
        first, last = self.items[0]
        comma = self._comma_behind(last)
        return first, last if comma is None else comma + 1

    def _has_own_lines(self, index: int) -> bool:
        start, end = self.items[index]
        comma = self._comma_behind(end)
        behind = end if comma is None else comma + 1
        first = max(line_start(self.text, start), self.inside[0])
        if first != line_start(self.text, start):
            return False
        stop = line_end(self.text, behind)
        if stop > self.inside[1] or line_end(self.text, end) != stop:
            return False
        around = self._blank(first, start) + self._blank(behind, stop)
        return not around.strip()

    def _blank(self, start: int, end: int) -> str:
        return self._blanked[start - self.inside[0] : end - self.inside[0]]

    def _comma_behind(self, end: int) -> int | None:
        rest = self._blank(end, self.inside[1])
        gap = len(rest) - len(rest.lstrip())
        return end + gap if rest[gap : gap + 1] == "," else None

    def _comma_before(self, start: int) -> int | None:
        rest = self._blank(self.inside[0], start).rstrip()
        return self.inside[0] + len(rest) - 1 if rest.endswith(",") else None


def _blanked(
    text: str, inside: Extent, items: Sequence[Extent], comment: re.Pattern[str]
) -> str:
    """Return what is between the brackets, with comments between items as blanks."""

    def blank(match: re.Match[str]) -> str:
        return "".join(sign if sign in "\r\n" else " " for sign in match[0])

    parts: list[str] = []
    position = inside[0]
    for start, end in items:
        parts += [comment.sub(blank, text[position:start]), text[start:end]]
        position = end
    parts.append(comment.sub(blank, text[position : inside[1]]))
    return "".join(parts)


# By which keys lists name their entries: of `- name: NCCL_DEBUG`, `value: WARN`.
_ENTRY_NAMES = ("name", "key")


class KeyChange(Record):
    """One change of one document.

    set: the value at the path becomes `value`. remove: it goes with its key. rename:
    its key becomes `name`. add: `name` with `value` stands behind the key at the path.
    add_entry: an entry as that at the path, with another `name` and `value`, stands
    behind it.
    """

    kind: Literal["set", "remove", "rename", "add", "add_entry"]
    path: KeyPath
    value: Scalar = None
    name: str = ""


def step_of(change: Change, data: object) -> KeyChange:
    """Return a change as one of the document; raises CannotEdit without such a place.

    A variable that a list holds as an entry with a name, as pods do, is that entry.
    """
    place = change.place
    at_path(data, place.path)
    entry = _entry(place.path, place.key, data)
    if entry is None:
        return KeyChange(change.kind, place.path, change.value, change.name)
    path, named_by = entry
    if change.kind == "rename":
        return KeyChange("set", (*path, named_by), change.name)
    if change.kind == "remove":
        return KeyChange("remove", path)
    text = _as_text(change.value)
    if change.kind == "add":
        return KeyChange("add_entry", path, text, change.name)
    return KeyChange("set", place.path, text)


def _entry(path: KeyPath, key: str, data: object) -> tuple[KeyPath, str] | None:
    """Return the entry of a list that is called `key`, and the key that names it."""
    if len(path) < len(("list", 0, "value")) or not isinstance(path[-2], int):
        return None
    entry = at_path(data, path[:-1])
    for name in _ENTRY_NAMES:
        if isinstance(entry, dict) and entry.get(name) == key:
            return path[:-1], name
    return None


def _as_text(value: Scalar) -> str:
    """Return a value as an environment variable holds it."""
    if value is None:
        message = "a variable has a text, not null"
        raise CannotEdit(message)
    return str(value).lower() if isinstance(value, bool) else str(value)


def at_path(data: object, path: KeyPath) -> object:
    """Return what lies at a path; raises CannotEdit where nothing does."""
    for step in path:
        key = _key(data, step)
        if isinstance(data, dict) and key in data:
            data = data[key]
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            message = "the key is not there any more"
            raise CannotEdit(message)
    return data


def _key(data: object, step: str | int) -> object:
    """Return the key that a step names: that of `true` and `null` is their text."""
    if isinstance(data, dict) and step not in data:
        return next((key for key in data if path_step(key) == step), step)
    return step


def after(data: object, step: KeyChange) -> object:
    """Return the data after a step; nothing of what is given is changed."""
    return _after(data, step.path, step)


def _after(data: object, path: KeyPath, step: KeyChange) -> object:
    if not path:
        return step.value
    first, *rest = path
    if isinstance(data, list) and isinstance(first, int):
        result = list(data)
        if rest or step.kind == "set":
            result[first] = _after(result[first], tuple(rest), step)
        elif step.kind == "remove":
            del result[first]
        elif step.kind == "add_entry":
            result.insert(first + 1, entry_like(result[first], step))
        else:
            message = "an item of a list has no key"
            raise CannotEdit(message)
        return result
    if not isinstance(data, dict):
        message = "the key is not there any more"
        raise CannotEdit(message)
    key = _key(data, first)
    if rest or step.kind == "set":
        return {**data, key: _after(data[key], tuple(rest), step)}
    return _of_mapping(data, key, step)


def _of_mapping(data: dict[object, object], key: object, step: KeyChange) -> object:
    if step.kind in {"rename", "add"} and step.name in data:
        message = f"{step.name} is set there already"
        raise CannotEdit(message)
    result: dict[object, object] = {}
    for name, value in data.items():
        if name != key:
            result[name] = value
        elif step.kind == "rename":
            result[step.name] = value
        elif step.kind == "add":
            result |= {name: value, step.name: step.value}
    return result


def entry_like(entry: object, step: KeyChange) -> dict[object, object]:
    """Return an entry of the same keys, with the name and the value of a step."""
    if isinstance(entry, dict):
        keys = list(entry)
        for name in _ENTRY_NAMES:
            if sorted(map(str, keys)) == sorted([name, "value"]):
                return {key: step.name if key == name else step.value for key in keys}
    message = "the entry beside it holds more than a name and a value"
    raise CannotEdit(message)


def is_same(item: object, other: object) -> bool:
    """Return whether two trees hold the same values of the same types."""
    if type(item) is not type(other):
        return False
    if isinstance(item, dict) and isinstance(other, dict):
        return list(map(repr, sorted(item, key=repr))) == list(
            map(repr, sorted(other, key=repr))
        ) and all(is_same(value, other[key]) for key, value in item.items())
    if isinstance(item, list) and isinstance(other, list):
        return len(item) == len(other) and all(map(is_same, item, other))
    return item == other or (item != item and other != other)  # noqa: PLR0124 - NaN
