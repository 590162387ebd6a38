"""From fixes to edits of files, each verified by reading the edited text again."""

from collections.abc import Iterable, Mapping

from speccheck.validator.changes.fixes.document_edits import document_edits, verify
from speccheck.validator.changes.fixes.edit import (
    CannotEdit,
    Edit,
    Edits,
    crosses,
    edited,
    line_end,
    line_start,
)
from speccheck.validator.changes.fixes.line_edits import (
    demand_same_lines,
    directive_edits,
    is_directive,
    is_line_file,
    line_edits,
)
from speccheck.validator.changes.fixes.step import Step, after, step_of
from speccheck.validator.evidence.finding import Change, Fix
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.reader import Source

FileEdits = dict[str, Edits]
"""The edits of each file, by its name."""

# The order of changes of a document: a name is looked for before it goes.
_KINDS = ("set", "add", "remove", "rename")


def edits_of(fix: Fix, sources: Mapping[str, Source]) -> FileEdits:
    """The edits of all changes of a fix: all of them, or none.

    Args:
        fix: what to change.
        sources: the files by name.

    Raises:
        CannotEdit: a change cannot be made by an edit that changes nothing else.
    """
    found: FileEdits = {}
    by_file: dict[str, list[Change]] = {}
    for change in fix.changes:
        by_file.setdefault(change.place.file, []).append(change)
    for file, changes in by_file.items():
        source = sources.get(file)
        if source is None:
            message = f"{file or 'what is not stated'} is no file of this run"
            raise CannotEdit(message)
        found[file] = _in_file(source, tuple(dict.fromkeys(changes)))
    if not found:
        message = "it names no change"
        raise CannotEdit(message)
    return found


def _in_file(source: Source, changes: tuple[Change, ...]) -> Edits:
    """The edits of changes of one file, as if they were made one after the other."""
    if len(changes) == 1:
        return _of_change(source, changes[0])
    text = _one_by_one(source, changes)
    try:
        found = [edit for change in changes for edit in _of_change(source, change)]
    except CannotEdit:
        found = []
    together = tuple(sorted(dict.fromkeys(found)))
    if not crosses(together) and edited(source.text, together) == text:
        return together
    return (_as_one(source.text, text),)


def _one_by_one(source: Source, changes: Iterable[Change]) -> str:
    """The text after all changes: no place of a later one is moved by one before."""
    for change in sorted(changes, key=_turn):
        edits = _of_change(source, change)
        source = Source(source.name, edited(source.text, edits), source.language)
    return source.text


def _turn(change: Change) -> tuple[object, ...]:
    """Words from the last to the first; keys as long as their names are there."""
    span = change.place.span
    if span is not None:
        return 0, -span.line, -span.column
    numbers = tuple(-step for step in change.place.path if isinstance(step, int))
    return _KINDS.index(change.kind) + 1, numbers


def _as_one(old: str, new: str) -> Edit:
    """One edit from the first to the last character that differ."""
    least = min(len(old), len(new))
    head = next((at for at in range(least) if old[at] != new[at]), least)
    tail = 0
    while tail < least - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(head, len(old) - tail, new[head : len(new) - tail])


def _of_change(source: Source, change: Change) -> Edits:
    """The edits of one change, verified."""
    if change.place.span is not None:
        if change.place.path:
            return _without_repetition(source, change)
        return _of_script(source, change)
    document = _document(source, change)
    step = step_of(change, document.data)
    after(document.data, step)  # refuses what cannot be before any edit
    _demand_once(document, step)
    edits = document_edits(document, step)
    verify(source, edits, {document.index: [step]})
    return edits


def _without_repetition(source: Source, change: Change) -> Edits:
    """Remove the line of a key that stands there again, where it has one to itself.

    Two of one path are told apart by position. What is read stays the same.
    """
    from speccheck.validator.changes.fixes.shell_edits import (  # noqa: PLC0415 - seldom
        offset_of,
    )

    text, span = source.text, change.place.span
    start = offset_of(text, span) if span is not None else 0
    first = line_start(text, start)
    if change.kind != "remove" or text[first:start].strip():
        message = "something else stands on its line"
        raise CannotEdit(message)
    edits = (Edit(first, line_end(text, start), ""),)
    verify(source, edits, {})
    return edits


def _document(source: Source, change: Change) -> Document:
    for document in source.documents:
        if document.index == change.place.document and change.place.path:
            return document
    message = "no key of the file states it"
    raise CannotEdit(message)


def _demand_once(document: Document, step: Step) -> None:
    """A key that stands there twice would come back when one of them goes."""
    is_kept = step.kind in {"set", "add", "add_entry"}
    if not is_kept and any(one.path == step.path for one in document.duplicates):
        message = "the key stands there twice"
        raise CannotEdit(message)


def _of_script(source: Source, change: Change) -> Edits:
    """The edits of a change at a position, in a script or in a line."""
    from speccheck.validator.changes.fixes.shell_edits import (  # noqa: PLC0415 - one of 4
        offset_of,
        script_edits,
    )

    span = change.place.span
    if span is None or span.line < 1:
        message = "its place is not known"
        raise CannotEdit(message)
    text = source.text
    if source.language != "shell":
        from speccheck.validator.changes.fixes.embedded_edits import (  # noqa: PLC0415 - seldom
            embedded_edits,
        )

        return embedded_edits(source, span, change)
    if is_line_file(source.name):
        edits = line_edits(source.name, text, span, change)
        demand_same_lines(text, edits, change)
        return edits
    if is_directive(text, span):
        edits = directive_edits(text, span, change)
        demand_same_lines(text, edits, change)
        return edits
    return script_edits(text, (0, len(text)), offset_of(text, span), change)
