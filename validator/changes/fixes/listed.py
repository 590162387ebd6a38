"""Items between brackets, separated by commas: JSON, flow YAML, inline TOML."""

import re
from collections.abc import Sequence

from speccheck.validator.changes.fixes.edit import (
    Edit,
    Edits,
    line_end,
    line_start,
    line_stop,
    newline,
)

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
        """What is between the brackets, or only the item where comments stand too."""
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
    """What is between the brackets, with comments between items as blanks."""

    def blank(found: re.Match[str]) -> str:
        return "".join(sign if sign in "\r\n" else " " for sign in found[0])

    parts: list[str] = []
    position = inside[0]
    for start, end in items:
        parts += [comment.sub(blank, text[position:start]), text[start:end]]
        position = end
    parts.append(comment.sub(blank, text[position : inside[1]]))
    return "".join(parts)
