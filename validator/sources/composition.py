"""A document with what it inherits and refers to: one tree, places in several files.

The files that a document names as its parents are read from the folder where its
framework looks for them; their values lie under its own. A parent that is not there
leaves a reason, and every value that it may have stated stays unknown.
"""

import os
from collections.abc import Container, Mapping
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.references import BrokenReference
from speccheck.validator.evidence.value import KeyPath, Place, Span
from speccheck.validator.sources.documents.document import (
    Document,
    RawScalar,
    ReadError,
    Resolution,
    path_step,
)
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.interpolation import (
    NOTHING_SET,
    Interpolated,
    interpolate,
)
from speccheck.validator.sources.named_files import circle, missing_file
from speccheck.validator.sources.reader import Parent, Reader, ReadingGap, Source
from speccheck.validator.sources.repository import find_named

# Published chains are four files long; a longer one is a mistake or an attack.
_MAXIMUM_PARENTS = 50
_TO_ITSELF = "inherits from itself"
_PARENT_SUFFIXES = (".yaml", ".yml", ".json", ".toml")


class _Layer(Record):
    """One document of a composition, and the key below which its values lie."""

    document: Document
    under: KeyPath = ()


class ComposedDocument(Document):
    """A document whose `data` hold inherited and worked-out values; see `Document`."""

    __slots__ = ("_has_gaps", "_layers", "_origins", "_outcomes", "_own")

    def __init__(
        self,
        own: Document,
        data: object,
        layers: tuple[_Layer, ...],
        origins: Mapping[KeyPath, int],
        outcomes: Mapping[KeyPath, Interpolated],
        *,
        has_gaps: bool,
    ) -> None:
        """Take the merged tree of the layers.

        Args:
            own: the document that was asked for.
            data: the tree, its texts worked out.
            layers: the documents by number; 0 is `own`.
            origins: the layer of each path where another one begins.
            outcomes: what became of the texts that refer to others.
            has_gaps: whether a parent is missing, to whose values texts may refer.
        """
        super().__init__(
            name=own.name,
            language=own.language,
            text=own.text,
            data=data,
            find_nodes=own.nodes,
            index=own.index,
            duplicates=own.duplicates,
            relaxed=own.relaxed,
        )
        self._own = own
        self._layers = layers
        self._origins = origins
        self._outcomes = outcomes
        self._has_gaps = has_gaps

    @property
    def prefix(self) -> KeyPath:
        """Where `data` lies in the file: not empty for a part of a document."""
        return self._own.prefix

    @property
    def own_data(self) -> object:
        """The part of `data` that stands in this file, its texts worked out.

        Null in place of a text that may refer to a missing parent, and of one that
        refers to a value left to be set: it is no fault of its own.
        """
        hidden = {
            path
            for path, outcome in self._outcomes.items()
            if outcome.waits or (self._has_gaps and not outcome.is_known)
        }
        return _projected(self._own.own_data, self.data, (), hidden)

    @property
    def fallbacks(self) -> Mapping[KeyPath, str]:
        """The conditions of values that hold only where a variable is not set."""
        return {
            path: outcome.only_if
            for path, outcome in self._outcomes.items()
            if outcome.only_if
        }

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key path, in the file that states it."""
        document, inner = self._stated_in(path)
        place = document.place(inner)
        if document.function and document is not self._own:
            return place._replace(span=document.span(inner))
        return place

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Return where a key or a value stands; None for what another file states."""
        document, inner = self._stated_in(path)
        return document.span(inner, part=part) if document is self._own else None

    def raw(self, path: KeyPath) -> RawScalar | None:
        """Return a scalar as it is written.

        None for a mapping, a list, an unknown path.
        """
        document, inner = self._stated_in(path)
        return document.raw(inner)

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Return how the value at a path was worked out, or why not; None if plain."""
        for length in range(len(path), 0, -1):
            outcome = self._outcomes.get(path[:length])
            if outcome is not None:
                places = tuple(self.place(source) for source in outcome.sources)
                return Resolution(
                    outcome.is_known,
                    outcome.note,
                    places,
                    outcome.is_computed,
                    outcome.only_if,
                )
        document, inner = self._stated_in(path)
        return document.resolution(inner)

    def _stated_in(self, path: KeyPath) -> tuple[Document, KeyPath]:
        for length in range(len(path), -1, -1):
            number = self._origins.get(path[:length])
            if number is not None:
                document, under = self._layers[number]
                return document, path[len(under) :]
        return self._own, path


class Composition(Record):
    """A document with what it inherits, the files read for it, and what is missing."""

    document: Document
    parents: tuple[Source, ...] = ()
    gaps: tuple[ReadingGap, ...] = ()
    broken: tuple[BrokenReference, ...] = ()


def compose(
    document: Document, reader: Reader, environment: Mapping[str, str] = NOTHING_SET
) -> Composition:
    """Read what the document inherits, and work out what it refers to.

    Gives the same document when it neither names another nor refers to values.

    Args:
        document: the one to read.
        reader: of its format; says what it may inherit.
        environment: variables that the launch script of the document sets.

    """
    parents = _Parents(reader)
    if reader.parents is not None:
        parents.add(document, ())
    else:
        parents.layers.append(_Layer(document))
    refers = reader.interpolates and any(
        "${" in layer.document.text for layer in parents.layers
    )
    gaps = (*parents.gaps,)
    if not refers and len(parents.layers) == 1:
        return Composition(document, gaps=gaps, broken=(*parents.broken,))
    own = parents.layers.index(_Layer(document))
    layers = (parents.layers[own], *parents.layers[:own], *parents.layers[own + 1 :])
    numbers = [*range(1, own + 1), 0, *range(own + 1, len(layers))]
    origins: dict[KeyPath, int] = {}
    data = document.data
    if len(layers) > 1:
        data = {}
        for number in numbers:
            _lay(data, layers[number], number, origins)
    outcomes: dict[KeyPath, Interpolated] = {}
    if refers:
        data, outcomes = interpolate(data, environment)
    composed = ComposedDocument(
        document, data, layers, origins, outcomes, has_gaps=bool(gaps)
    )
    broken = [*parents.broken]
    ring = circle((composed.place(path), item) for path, item in outcomes.items())
    if ring is not None:
        broken.append(ring)
    return Composition(composed, (*parents.sources,), gaps, (*broken,))


class _Parents:
    """Walks from a document up to all that it inherits, weakest first."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.layers: list[_Layer] = []
        self.sources: list[Source] = []
        self.gaps: list[ReadingGap] = []
        self.broken: list[BrokenReference] = []
        self._open: set[str] = set()
        self._read = 0

    def add(self, document: Document, under: KeyPath) -> None:
        """Add a document over its parents, and those that win over it."""
        parents = self.reader.parents(document) if self.reader.parents else ()
        name = os.path.normpath(document.name)
        self._open.add(name)
        for parent in parents:
            if not parent.wins:
                self._add_parent(document, parent, under)
        self.layers.append(_Layer(document, under))
        for parent in parents:
            if parent.wins:
                self._add_parent(document, parent, under)
        self._open.discard(name)

    def _add_parent(self, child: Document, parent: Parent, under: KeyPath) -> None:
        document = self._load(child, parent)
        if isinstance(document, Document):
            self.add(document, (*under, *parent.under))
            if document.open_reason:
                place = child.place(parent.at)
                gap = ReadingGap(document.open_reason, place, is_inherited=False)
                self.gaps.append(gap)
        elif not parent.is_optional:
            reason = f"it inherits values, and {document}"
            place = child.place(parent.at)
            self.gaps.append(ReadingGap(reason, place))
            target, folders = parent.target, parent.folders
            if document.endswith(_TO_ITSELF):
                what = f"{child.name.rpartition('/')[2]}: {document}"
                self.broken.append(
                    BrokenReference(what, (place,), target, is_sure=True)
                )
            elif (missing := missing_file(child.name, target, folders, place)) and (
                find_named(child.name, target, folders, upwards=False) is None
            ):
                self.broken.append(missing)

    def _load(self, child: Document, parent: Parent) -> Document | str:
        """Return the document that a parent names, or the reason why there is none."""
        target = parent.target
        suffixes = (".py",) if parent.function else _PARENT_SUFFIXES
        if os.path.isabs(target) or not target.endswith(suffixes):
            return f"{target:.80} is not a configuration file beside this one"
        self._read += 1
        if self._read > _MAXIMUM_PARENTS:
            return f"more than {_MAXIMUM_PARENTS} files are inherited"
        path = find_named(child.name, target, parent.folders, upwards=False)
        if path is None:
            return f"{target:.80} was not found"
        if path in self._open:
            return f"{target:.80} {_TO_ITSELF}"
        return self._document(path, parent.function)

    def _document(self, path: str, function: str) -> Document | str:
        try:
            source = Source(path, read_text(path))
            documents = source.documents
        except ReadError as error:
            return str(error)
        if function:
            documents = [item for item in documents if item.function == function]
        if len(documents) != 1:
            return f"{path} holds {len(documents)} documents where one is inherited"
        self.sources.append(source)
        return documents[0]


def _lay(data: object, layer: _Layer, number: int, origins: dict[KeyPath, int]) -> None:
    """Merge a layer over what lies below it."""
    target = data
    for step in layer.under:
        if not isinstance(target, dict):
            return
        below = target.get(step)
        target[step] = dict(below) if isinstance(below, dict) else {}
        target = target[step]
    if isinstance(target, dict) and isinstance(layer.document.data, dict):
        _merge(target, layer.document.data, layer.under, number, origins)


def _merge(
    target: dict[object, object],
    over: Mapping[object, object],
    path: KeyPath,
    number: int,
    origins: dict[KeyPath, int],
) -> None:
    for key, value in over.items():
        here = (*path, path_step(key))
        below = target.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged = dict(below)
            target[key] = merged
            _merge(merged, value, here, number, origins)
        else:
            target[key] = value
            origins[here] = number


def _projected(
    own: object, worked_out: object, path: KeyPath, hidden: Container[KeyPath]
) -> object:
    """Return the tree as in the file, with its texts worked out where possible.

    A text that stands for a whole block or list leaves it empty: spread out here, its
    keys would be judged as keys of this file.
    """
    if isinstance(own, dict):
        values: Mapping[object, object] = (
            worked_out if isinstance(worked_out, dict) else {}
        )
        return {
            key: _projected(
                item, values.get(key, item), (*path, path_step(key)), hidden
            )
            for key, item in own.items()
        }
    if isinstance(own, list):
        result = worked_out if isinstance(worked_out, list) else []
        return [
            _projected(
                item,
                result[index] if index < len(result) else item,
                (*path, index),
                hidden,
            )
            for index, item in enumerate(own)
        ]
    if isinstance(own, str) and "${" in own:
        if isinstance(worked_out, dict | list):
            return type(worked_out)()
        return None if path in hidden else worked_out
    return own
