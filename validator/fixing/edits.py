"""From fixes to edits of files, each verified by reading the edited text again."""

from collections.abc import Iterable, Mapping

from speccheck.validator.evidence.fix import Change, Fix
from speccheck.validator.fixing.edit import CannotEdit, Edit, Edits, edited
from speccheck.validator.fixing.line_edits import (
    demand_same_lines,
    directive_edits,
    is_directive,
    is_line_file,
    line_edits,
)
from speccheck.validator.fixing.step import Step, after, is_same, step_of
from speccheck.validator.sources.documents.document import Document, ReadError
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
    for change in changes:
        if change.place.span is not None:
            edits += _of_script(source, change)
            continue
        document = _document(source, change)
        step = step_of(change, document.data)
        after(document.data, step)  # refuses what cannot be before any edit
        _demand_once(document, step)
        edits += _of_document(document, step)
        steps.setdefault(document.index, []).append(step)
    if steps:
        _verify(source, tuple(edits), steps)
    return tuple(edits)


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


def _of_document(document: Document, step: Step) -> Edits:
    if document.language == "json":
        from speccheck.validator.fixing.json_edits import (  # noqa: PLC0415 - one of 4
            json_edits,
        )

        return json_edits(document, step)
    if document.language == "toml":
        from speccheck.validator.fixing.toml_edits import (  # noqa: PLC0415 - one of 4
            toml_edits,
        )

        return toml_edits(document, step)
    from speccheck.validator.fixing.yaml_edits import (  # noqa: PLC0415 - one of 4
        yaml_edits,
    )

    return yaml_edits(document.name, document.text, document.index, step)


def _verify(source: Source, edits: Edits, steps: Mapping[int, Iterable[Step]]) -> None:
    """Read the edited text: it holds what it held, but for the steps."""
    try:
        new = Source(source.name, edited(source.text, edits), source.language)
        found = {document.index: document.data for document in new.documents}
    except ReadError as error:
        message = f"the edited text could not be read: {error.problem}"
        raise CannotEdit(message) from error
    wanted: dict[int, object] = {}
    for document in source.documents:
        wanted[document.index] = document.data
        for step in steps.get(document.index, ()):
            wanted[document.index] = after(wanted[document.index], step)
    if not is_same(found, wanted):
        message = "the edited text would say more or less than is wanted"
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
