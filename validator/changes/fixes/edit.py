"""Edits of a text: stretches, and what takes their place."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

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
    """The text after edits that do not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def overlaps(one: Sequence[Edit], others: Iterable[Edit]) -> bool:
    """Whether edits touch the same characters, or the same gap between two."""
    return any(
        first.start <= other.end and other.start <= first.end
        for other in others
        for first in one
    )


def crosses(edits: Sequence[Edit]) -> bool:
    """Whether two of several edits, in their order, change the same characters."""
    return any(following.start < one.end for one, following in pairwise(edits))


def line_start(text: str, offset: int) -> int:
    """The offset at which the line of an offset begins."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """The offset behind the line of an offset, its line end included."""
    found = text.find("\n", offset)
    return len(text) if found < 0 else found + 1


def line_stop(text: str, offset: int) -> int:
    """The offset at which the line of an offset ends, before its line end."""
    end = line_end(text, offset)
    found = _LINE_END.search(text, line_start(text, offset), end)
    return found.start() if found else end


def newline(text: str, offset: int) -> str:
    """The line end of the line of an offset, or of the line before a last one."""
    stop, end = line_stop(text, offset), line_end(text, offset)
    if end > stop:
        return text[stop:end]
    found = _LINE_END.search(text)
    return found[0] if found else "\n"


def added_line(text: str, offset: int, line: str) -> Edit:
    """A line behind that of an offset; a last line without line end gets one."""
    stop = line_stop(text, offset)
    return Edit(stop, stop, newline(text, offset) + line)
