"""A part of a document, read as if it were a document of its own.

Wrappers (a MosaicML run, a launcher's recipe) hold the configuration of another format
below one of their keys; its reader reads the part, and the places stay those of the
file.
"""

from typing import Literal

from speccheck.validator.evidence.value import KeyPath, Place, Span
from speccheck.validator.sources.documents.document import (
    Document,
    RawScalar,
    Resolution,
)


class SectionDocument(Document):
    """The mapping below a key path; see `Document`."""

    __slots__ = ("_path", "_whole")

    def __init__(self, whole: Document, path: KeyPath) -> None:
        """Take the part of `whole` at `path`; empty when there is nothing."""
        super().__init__(
            name=whole.name,
            language=whole.language,
            text=whole.text,
            data=_below(whole.data, path),
            find_nodes=whole.nodes,
            index=whole.index,
            relaxed=whole.relaxed,
        )
        self._whole = whole
        self._path = path

    @property
    def prefix(self) -> KeyPath:
        """Where the part lies in its file."""
        return (*self._whole.prefix, *self._path)

    @property
    def own_data(self) -> object:
        """The part of `data` that stands in this file."""
        return _below(self._whole.own_data, self._path)

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Where a key or a value stands; None for a path that does not exist."""
        return self._whole.span((*self._path, *path), part=part)

    def raw(self, path: KeyPath) -> RawScalar | None:
        """A scalar as it is written; None for a mapping, a list, an unknown path."""
        return self._whole.raw((*self._path, *path))

    def place(self, path: KeyPath) -> Place:
        """The place of a key path, as the whole file names it."""
        return self._whole.place((*self._path, *path))

    def resolution(self, path: KeyPath) -> Resolution | None:
        """How the value at a path was worked out, or why not; None for plain ones."""
        return self._whole.resolution((*self._path, *path))


def _below(data: object, path: KeyPath) -> object:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data
