"""What a snapshot says of one thing of a node: the base of all parts.

A part is a class of annotations: `ecc_enabled: Value[bool]`. Its leaves lie in the
snapshot as they were written, and become values when they are asked for, so that ten
thousand snapshots cost what is judged of them and not what is in them. A leaf that is
not there, cannot be read or has another type is a value that is not known: a rule that
needs it is undecided, and never passes.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from speccheck.validator.evidence.record import Frozen, Record
from speccheck.validator.evidence.value import (
    KeyPath,
    MissingEvidence,
    Place,
    Status,
    Value,
    dotted,
)

_ABSENCES: dict[object, Status] = {
    "absent": "absent",
    "not_supported": "not_supported",
    "not_permitted": "not_permitted",
}
_WORDS = {"not_supported": "not supported", "not_permitted": "not permitted"}
_NOTHING = object()
NOT_IN_SNAPSHOT = "not in the snapshot"

Texts = tuple[str | None, ...]
Frame = tuple[str, tuple[Place, ...], str]


class SnapshotFile(Record):
    """Where the leaves of a part stand.

    sources: by `kind.leaf`, what was read, such as `nvmlDeviceGetEccMode`.
    cut_short: by kind, why leaves or parts are missing: the probe that reads them did
        not end, or a capture shows some of them only.
    places: of leaves and lists of captures, which are no snapshots themselves.
    reads: where it is noted what is read: the path of a leaf, of a list its kind alone.
        None where nobody asks.
    frames: what stands around leaves, kept by path for other snapshots that are called
        the same: name, places and source. None where there are no others.
    """

    name: str
    sources: Mapping[str, str]
    cut_short: Mapping[str, str]
    places: Mapping[KeyPath, Place] = MappingProxyType({})
    reads: set[KeyPath] | None = None
    frames: dict[KeyPath, Frame] | None = None

    def place(self, path: KeyPath) -> Place:
        """Return where a leaf or a list stands."""
        return self.places.get(path) or Place(self.name, dotted(path), path)


class Part(Frozen):
    """One GPU, port, device or log, or the one host; frozen.

    kind: the key of the snapshot under which such parts lie.
    title: what people call one: `GPU 3`.
    is_single: whether a node has one of it at most.
    counts: leaves of which there is at least one.
    """

    # Leaves are read when they are first asked for, and kept in the dictionary.
    __slots__ = ("__dict__", "_file", "_leaves", "path", "title")
    kind = ""
    is_single = False
    scope = "node"
    counts: frozenset[str] = frozenset()

    path: KeyPath
    title: str
    _file: SnapshotFile
    _leaves: Mapping[str, object]

    def __init__(
        self,
        leaves: Mapping[str, object],
        file: SnapshotFile,
        path: KeyPath,
        title: str,
    ) -> None:
        """Take the leaves as they lie in the snapshot, and where that is."""
        for name, value in (
            ("_leaves", leaves),
            ("_file", file),
            ("path", path),
            ("title", title),
        ):
            object.__setattr__(self, name, value)

    def __getattr__(self, field: str) -> Value[Any]:
        """Return the leaf; raises AttributeError for what is no leaf of such a part."""
        kind = _KINDS.get((type(self), field)) or _kind_of(type(self), field)
        leaf = self._leaf(field, kind)
        reads = self._file.reads
        if reads is None:
            self.__dict__[field] = leaf
        else:  # not kept: the next one who reads it is to be noted as well
            reads.add((*self.path, field))
        return leaf

    @property
    def leaves(self) -> Mapping[str, object]:
        """The leaves as they lie in the snapshot."""
        return self._leaves

    def _leaf(self, field: str, kind: Any) -> Value[Any]:  # noqa: ANN401 - a type
        path = (*self.path, field)
        frames = self._file.frames
        frame = None if frames is None else frames.get(path)
        if frame is None:
            frame = dotted(path), (self._file.place(path),), self._source(field)
            if frames is not None:
                frames[path] = frame
        name, place, source = frame
        leaf = self._leaves.get(field, _NOTHING)
        if leaf is _NOTHING:
            reason = self._file.cut_short.get(self.kind, NOT_IN_SNAPSHOT)
            return Value(name, note=reason)
        if type(leaf) is dict or isinstance(leaf, Mapping):
            return absence(name, leaf, place, source)
        try:
            value = leaf if type(leaf) is kind else typed(leaf, kind)
        except TypeError as error:
            return Value(name, None, "failed", place, str(error))
        if field in self.counts and isinstance(value, int) and value < 1:
            return Value(name, None, "failed", place, f"is {value}, not above zero")
        return Value(name, value, "measured", place, source)

    def _source(self, field: str) -> str:
        return self._file.sources.get(f"{self.kind}.{field}", "")

    def stated(self) -> Iterator[str]:
        """Return the names of the leaves that the snapshot has, known or not."""
        known = type(self).__annotations__
        return (name for name in self._leaves if name in known)


# By part and leaf, what a leaf holds: annotations of a class are found slowly.
_KINDS: dict[tuple[type, str], object] = {}


def _kind_of(part: type[Part], field: str) -> object:
    """Return what a leaf holds; raises AttributeError for no leaf of such a part."""
    annotated: Any = part.__annotations__.get(field)
    if annotated is None:
        message = f"{part.__name__} has no {field}"
        raise AttributeError(message)
    kind = _KINDS[(part, field)] = annotated.__args__[0]
    return kind


P_co = TypeVar("P_co", bound=Part, covariant=True)


class Parts(Generic[P_co]):
    """All parts of one kind, and how sure it is that these are all."""

    __slots__ = ("_count", "_items", "_reads")
    part: type[Part] = Part
    scope = "node"

    def __init__(
        self,
        items: tuple[P_co, ...],
        count: Value[int],
        reads: set[KeyPath] | None = None,
    ) -> None:
        """Take the parts in their order; reads: as of `SnapshotFile`."""
        self._items = items
        self._count = count
        self._reads = reads

    @property
    def count(self) -> Value[int]:
        """How many there are; unknown when they could not be listed."""
        if self._reads is not None:
            self._reads.add((self.part.kind,))
        return self._count

    @property
    def shown(self) -> tuple[P_co, ...]:
        """Those that are known, be it that there are more."""
        if self._reads is not None:
            self._reads.add((self.part.kind,))
        return self._items

    def each(self) -> tuple[P_co, ...]:
        """Return the parts; raises MissingEvidence when they could not be listed."""
        if not self.count.is_known:
            raise MissingEvidence(self._count.name, self._count.note)
        return self._items


def absence(
    name: str,
    result: Mapping[str, object],
    places: tuple[Place, ...] = (),
    source: str = "",
) -> Value[Any]:
    """Return a leaf or list without value that says why: `{"status": "absent"}`."""
    status = _ABSENCES.get(str(result.get("status")), "failed")
    note = _WORDS.get(status, status)
    source = str(result.get("source") or source)
    if source:
        note += f": {source}"
    if message := result.get("message"):
        note += f": {message}"
    return Value(name, None, status, places, note)


def typed(result: object, kind: object) -> object:
    """Return a field as its part declares it; raises TypeError for another type.

    Lists become tuples; in a list of numbers, what could not be read is None.
    """
    wanted = _TYPES.get(kind)
    if wanted is None:
        message = f"no leaf has the type {kind}"
        raise TypeError(message)
    word, accepts, element = wanted
    if element is None:
        if type(result) not in accepts:
            message = f"is {_shown(result)}, not {word}"
            raise TypeError(message)
        return float(result) if kind is float else result  # type: ignore[arg-type]
    if not isinstance(result, list):
        message = f"is {_shown(result)}, not {word}"
        raise TypeError(message)
    if _ACCEPTED.get(element, _NONE).issuperset(map(type, result)):
        return tuple(result)
    return tuple(None if _is_absence(item) else typed(item, element) for item in result)


def _is_absence(result: object) -> bool:
    return result is None or isinstance(result, dict)


def _shown(result: object) -> str:
    text = repr(result)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


_MOST_SHOWN = 40
_TYPES: dict[object, tuple[str, tuple[type, ...], object]] = {
    int: ("a whole number", (int,), None),
    float: ("a number", (int, float), None),
    str: ("a text", (str,), None),
    bool: ("true or false", (bool,), None),
    tuple[int | None, ...]: ("a list of whole numbers", (), int),
    tuple[float | None, ...]: ("a list of numbers", (), float),
    tuple[str | None, ...]: ("a list of texts", (), str),
    tuple[bool | None, ...]: ("a list of true and false", (), bool),
}
# Of the elements of a list: most lists hold nothing else, and need no second look.
_NONE: frozenset[type] = frozenset()
_ACCEPTED: dict[object, frozenset[type]] = {
    item: frozenset({item}) for item in (int, str, bool)
}
