"""Reads a text as one format, for the tests of the document readers."""

from typing import NamedTuple

from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.composition import compose
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.reader import Reader, Reading, Source


class ReadText(NamedTuple):
    """A document, what its reader made of it, and its leaves by name."""

    document: Document
    reading: Reading
    leaves: dict[str, Value[object]]

    def values(self, *statuses: str) -> dict[str, object]:
        """Return the values of the leaves with one of these statuses."""
        return {
            name: leaf.value
            for name, leaf in self.leaves.items()
            if leaf.status in statuses
        }

    def value(self, name: str) -> object:
        """Return the value of one leaf; None when nothing speaks of it."""
        leaf = self.leaves.get(name)
        return None if leaf is None else leaf.value

    def status(self, name: str) -> str | None:
        """Return how a leaf is known; None when nothing speaks of it."""
        leaf = self.leaves.get(name)
        return None if leaf is None else leaf.status

    def note(self, name: str) -> str:
        """Return why a leaf has its value, or none."""
        return self.leaves[name].note

    def line(self, name: str) -> int:
        """Return the line of the first place of a leaf."""
        span = self.document.span(self.leaves[name].places[0].path)
        assert span is not None, f"{name} has no place in the file"
        return span.line


def document_of(text: str, name: str) -> Document:
    """Return the only document of a text."""
    (document,) = Source(name, text).documents
    return document


def read_text(reader: Reader, text: str, name: str) -> ReadText:
    """Return what a reader makes of a text whose file has that name."""
    document = compose(document_of(text, name), reader).document
    reading = reader.read(document)
    return ReadText(document, reading, merge(reading.facts.facts))


def keys_and_texts(read: ReadText) -> list[tuple[str, str, bool]]:
    """Return key, text and whether it is fatal, of each value of another type."""
    keyed = read.reading.keyed
    assert keyed is not None
    return [(item.key, item.written, item.fatal) for item in keyed.loaded_as]
