"""Edits of YAML, JSON and TOML, and the proof that nothing else changes."""

from collections.abc import Iterable, Mapping

from speccheck.validator.changes.fixes.edit import CannotEdit, Edits, edited
from speccheck.validator.changes.fixes.step import Step, after, is_same
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.reader import Source


def document_edits(document: Document, step: Step) -> Edits:
    """The edits of a step in a document, in its language; raises CannotEdit."""
    if document.language == "json":
        from speccheck.validator.changes.fixes.json_edits import (  # noqa: PLC0415 - one of 4
            json_edits,
        )

        return json_edits(document, step)
    if document.language == "toml":
        from speccheck.validator.changes.fixes.toml_edits import (  # noqa: PLC0415 - one of 4
            toml_edits,
        )

        return toml_edits(document, step)
    from speccheck.validator.changes.fixes.yaml_edits import (  # noqa: PLC0415 - one of 4
        yaml_edits,
    )

    return yaml_edits(document.name, document.text, document.index, step)


def verify(source: Source, edits: Edits, steps: Mapping[int, Iterable[Step]]) -> None:
    """Read the edited text: it holds what it held, but for the steps.

    Args:
        source: the file as it is.
        edits: of its text.
        steps: what they do, by the number of the document.

    Raises:
        CannotEdit: the edited text says anything else.
    """
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
