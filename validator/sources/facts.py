"""Facts: what one source says of the plan, before several sources are merged."""

from typing import Any

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place, Status, dotted
from speccheck.validator.sources.documents.document import Document, Resolution

__all__ = ["Fact", "FactSheet", "dotted"]


class Fact(Record):
    """One statement on one leaf; `value` is None when its reader could not use it."""

    name: str
    value: Any
    status: Status
    places: tuple[Place, ...]
    note: str = ""


class FactSheet:
    """Collects the facts of one document; the only thing that readers write to."""

    __slots__ = ("document", "facts", "file")

    def __init__(self, file: str, document: Document | None = None) -> None:
        """Start an empty sheet for a document of a file, or for a file without any."""
        self.file = file
        self.document = document
        self.facts: list[Fact] = []

    @classmethod
    def of(cls, document: Document) -> "FactSheet":
        """An empty sheet for a document."""
        return cls(document.name, document)

    def place(self, path: KeyPath) -> Place:
        """The place of a key path in this document."""
        if self.document is None:
            return Place(self.file, dotted(path), path)
        return self.document.place(path)

    def state(self, name: str, value: object, at: KeyPath | Place) -> None:
        """The file states the value of a leaf: there, at another key, by arithmetic."""
        place, resolution = self._where(at)
        if resolution is None:
            self.facts.append(Fact(name, value, "stated", (place,)))
            return
        places = tuple(dict.fromkeys((place, *resolution.places)))
        status: Status = "derived" if resolution.is_computed else "stated"
        self.facts.append(Fact(name, value, status, places, resolution.note))

    def derive(self, name: str, value: object, note: str, *at: KeyPath | Place) -> None:
        """The file states something from which the value of a leaf follows."""
        places = tuple(self._where(one)[0] for one in at)
        self.facts.append(Fact(name, value, "derived", places, note))

    def default(self, name: str, value: object, note: str) -> None:
        """Nothing is stated and the framework's own default holds; `note` says whose.

        Loses against any statement or derivation of another source.
        """
        self.facts.append(Fact(name, value, "default", (), note))

    def unusable(self, name: str, reason: str, at: KeyPath | Place) -> None:
        """Something is stated that cannot be worked out from the files alone."""
        place, resolution = self._where(at)
        if resolution is not None and not resolution.is_known:
            reason = resolution.note
        self.facts.append(Fact(name, None, "unknown", (place,), reason))

    def _where(self, at: KeyPath | Place) -> tuple[Place, Resolution | None]:
        if isinstance(at, Place):
            return at, None
        if self.document is None:
            return self.place(at), None
        return self.document.place(at), self.document.resolution(at)
