"""From fixes to edits of files, each verified by reading the edited text again."""

from collections.abc import Iterable, Mapping

from speccheck.validator.evidence.fix import Change, Fix
from speccheck.validator.fixing.document_edits import document_edits, verify
from speccheck.validator.fixing.edit import (
    CannotEdit,
    Edit,
    Edits,
    line_end,
    line_start,
)
from speccheck.validator.fixing.line_edits import (
    demand_same_lines,
    directive_edits,
    is_directive,
    is_line_file,
    line_edits,
)
from speccheck.validator.fixing.step import Step, after, step_of
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.source import Source

FileEdits = dict[str, Edits]
"""The edits of each file, by its name."""


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


def _in_file(source: Source, changes: Iterable[Change]) -> Edits:
    edits: list[Edit] = []
    steps: dict[int, list[Step]] = {}
    is_repeated = False
    for change in changes:
        if change.place.span is not None and change.place.path:
            edits += _without_repetition(source, change)
            is_repeated = True
            continue
        if change.place.span is not None:
            edits += _of_script(source, change)
            continue
        document = _document(source, change)
        step = step_of(change, document.data)
        after(document.data, step)  # refuses what cannot be before any edit
        _demand_once(document, step)
        edits += document_edits(document, step)
        steps.setdefault(document.index, []).append(step)
    if steps or is_repeated:
        verify(source, tuple(edits), steps)
    return tuple(edits)


def _without_repetition(source: Source, change: Change) -> Edits:
    """Remove the line of a key that stands there again, where it has one to itself.

    Two of one path are told apart by position. What is read stays the same.
    """
    from speccheck.validator.fixing.shell_edits import (  # noqa: PLC0415 - seldom
        offset_of,
    )

    text, span = source.text, change.place.span
    start = offset_of(text, span) if span is not None else 0
    first = line_start(text, start)
    if change.kind != "remove" or text[first:start].strip():
        message = "something else stands on its line"
        raise CannotEdit(message)
    return (Edit(first, line_end(text, start), ""),)


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
    from speccheck.validator.fixing.shell_edits import (  # noqa: PLC0415 - one of 4
        offset_of,
        script_edits,
    )

    span = change.place.span
    if span is None or span.line < 1:
        message = "its place is not known"
        raise CannotEdit(message)
    text = source.text
    if source.language != "shell":
        from speccheck.validator.fixing.embedded_edits import (  # noqa: PLC0415 - seldom
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
