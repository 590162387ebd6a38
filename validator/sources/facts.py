"""Facts: what one source says of the plan, before several sources are merged."""

from typing import Any

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place, Status, dotted

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

    def __init__(self, file: str, document: int = 0) -> None:
        """Start an empty sheet for a document of a file."""
        self.file = file
        self.document = document
        self.facts: list[Fact] = []

    def place(self, path: KeyPath) -> Place:
        """The place of a key path in this document."""
        return Place(self.file, dotted(path), path, self.document)

    def state(self, name: str, value: object, at: KeyPath | Place) -> None:
        """The file states the value of a leaf."""
        self.facts.append(Fact(name, value, "stated", (self._place(at),)))

    def derive(self, name: str, value: object, note: str, *at: KeyPath | Place) -> None:
        """The file states something from which the value of a leaf follows."""
        places = tuple(self._place(one) for one in at)
        self.facts.append(Fact(name, value, "derived", places, note))

    def default(self, name: str, value: object, note: str) -> None:
        """Nothing is stated and the framework's own default holds; `note` says whose.

        Loses against any statement or derivation of another source.
        """
        self.facts.append(Fact(name, value, "default", (), note))

    def unusable(self, name: str, reason: str, at: KeyPath | Place) -> None:
        """Something is stated that cannot be worked out from the files alone."""
        self.facts.append(Fact(name, None, "unknown", (self._place(at),), reason))

    def _place(self, at: KeyPath | Place) -> Place:
        return at if isinstance(at, Place) else self.place(at)
