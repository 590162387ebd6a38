"""The files as read: which keys stand in them, how, and what was odd about them."""

from typing import Any

from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.framework_version import FrameworkVersion
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place, Value, dotted


class InDocument(Record):
    """The document of a file in which a key stands."""

    file: str
    document: int = 0


class StatedKey(Record):
    """One key of a file, with the value as the loader of its language gives it.

    `at` gives the document where the path says the rest: of the many keys of a run few
    places are ever asked for.
    """

    path: KeyPath
    value: object
    at: Place | InDocument
    is_block: bool = False  # holds other keys

    @property
    def place(self) -> Place:
        """Where the key stands."""
        if isinstance(self.at, Place):
            return self.at
        file, document = self.at
        return Place(file, dotted(self.path), self.path, document, "key")


class TwiceStatedKey(Record):
    """The same key twice in one mapping."""

    key: str
    first: Place
    again: Place
    is_equal: bool = False  # both times the same text: whichever counts


class LoadedAs(Record):
    """A text that reaches the framework as another type than its writer means."""

    key: str
    written: str
    loaded: str  # what the framework sees, in words
    expected: str  # the type that the framework expects
    place: Place
    fatal: bool  # the framework stops on it or computes with the wrong type


class KeyedFile(Record):
    """The keys of one file and the table of its framework."""

    file: str
    format: str
    keys: tuple[StatedKey, ...]
    catalogue: FrameworkKeys | None = None
    version: FrameworkVersion | None = None
    twice: tuple[TwiceStatedKey, ...] = ()
    loaded_as: tuple[LoadedAs, ...] = ()
    refuses_duplicates: bool = False


class StatedKeys(Record):
    """All files of a plan that have keys."""

    files: tuple[KeyedFile, ...]


class Conflicts(Record):
    """Facts of the plan that were stated with different values."""

    values: tuple[Value[Any], ...]
