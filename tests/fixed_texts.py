"""Texts before and after one change, made by the edits of fixes."""

from speccheck.validator.changes.fixes.edit import CannotEdit, edited
from speccheck.validator.changes.fixes.edits import edits_of
from speccheck.validator.evidence.finding import Change, Fix
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place, Span
from speccheck.validator.sources.reader import Source


class Case(Record):
    """One change of one text; `after` is the text, or why it stays as it is."""

    name: str
    before: str
    change: Change
    after: str = ""
    refused: str = ""


def after(file: str, text: str, *changes: Change) -> str:
    """Return the text after changes, which tell no file; raises CannotEdit."""
    named = tuple(
        change._replace(place=change.place._replace(file=file)) for change in changes
    )
    edits = edits_of(Fix("", named, because="same meaning"), {file: Source(file, text)})
    assert set(edits) == {file}
    return edited(text, edits[file])


def outcome(file: str, text: str, *changes: Change) -> str:
    """Return the text after changes, or why there are none."""
    try:
        return after(file, text, *changes)
    except CannotEdit as error:
        return f"refused: {error}"


def at(*path: str | int, key: str = "", document: int = 0) -> Place:
    """Return the place of a key path, with an entry's name where a list holds it."""
    steps: KeyPath = path
    return Place("", key or str(path[-1]), steps, document)


def word_at(text: str, marked: str, key: str) -> Place:
    """Return the place of a word of a script: `[8]` in what is marked."""
    before, _, rest = marked.partition("[")
    word, _, after_it = rest.partition("]")
    offset = text.index(before + word + after_it) + len(before)
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return Place("", key, span=Span(line, column, max(1, len(word))))
