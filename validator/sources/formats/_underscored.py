"""A document whose top-level keys are read with underscores for dashes."""

from typing import Literal

from speccheck.validator.evidence.value import KeyPath, Place, Span
from speccheck.validator.sources.documents.document import (
    Document,
    RawScalar,
    Resolution,
    path_step,
)
from speccheck.validator.sources.mapping import section


class UnderscoredDocument(Document):
    """A view of a document: keys with underscores, places where they are written.

    Of two spellings of one key the last holds; `twins` names their pairs.
    """

    __slots__ = ("_whole", "_written", "twins")

    def __init__(self, whole: Document) -> None:
        """Take a document with a mapping at its top; anything else gives no keys."""
        data: dict[str, object] = {}
        written: dict[str, str | int] = {}
        twins: list[tuple[str | int, str | int]] = []
        for key, value in section(whole.data).items():
            name, step = underscored(key), path_step(key)
            if name in data:
                twins.append((written[name], step))
            data[name] = value
            written[name] = step
        super().__init__(
            name=whole.name,
            language=whole.language,
            text=whole.text,
            data=data,
            find_nodes=whole.nodes,
            index=whole.index,
            duplicates=whole.duplicates,
            relaxed=whole.relaxed,
        )
        self._whole = whole
        self._written = written
        self.twins = tuple(twins)

    def as_written(self, path: KeyPath) -> KeyPath:
        """The path with the spelling of the file."""
        if not path or not isinstance(path[0], str):
            return path
        return (self._written.get(path[0], path[0]), *path[1:])

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Where a key or a value stands; None for a path that does not exist."""
        return self._whole.span(self.as_written(path), part=part)

    def raw(self, path: KeyPath) -> RawScalar | None:
        """A scalar as it is written; None for a mapping, a list, an unknown path."""
        return self._whole.raw(self.as_written(path))

    def place(self, path: KeyPath) -> Place:
        """The place of a key path, with the spelling of the file."""
        return self._whole.place(self.as_written(path))

    def resolution(self, path: KeyPath) -> Resolution | None:
        """How the value at a path was worked out, or why not; None for plain ones."""
        return self._whole.resolution(self.as_written(path))

    @property
    def prefix(self) -> KeyPath:
        """Where `data` lies in the file."""
        return self._whole.prefix

    @property
    def own_data(self) -> object:
        """The part of `data` that stands in this file."""
        return self.data


def underscored(key: object) -> str:
    """A key as GPT-NeoX takes it (NeoXArgs.from_ymls)."""
    return str(key).replace("-", "_")
