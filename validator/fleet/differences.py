"""Where the content of two snapshots differs, as far as anybody looks at it.

Exact to the type: 1, 1.0 and true are three values. What is equal is found by the bytes
of many leaves at once, which costs a hundredth of looking at each.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from marshal import dumps
from operator import itemgetter
from typing import Any

from speccheck.validator.evidence.node.node import KINDS, MEASURED, SINGLES
from speccheck.validator.evidence.value import KeyPath

Content = Mapping[str, Any]
Leaves = Mapping[str, Any]
_SINGLE_KINDS = frozenset(one.kind for one in SINGLES)
# Beside its leaves, what tells how a part is called and whether a list is whole.
_AROUND = ("cut_short", "partly_listed", "sources")
# Leaves that a part is called by (Node): where one differs, the part is another one.
_NAMING = {
    "gpus": frozenset({"pci_address"}),
    "rdma_ports": frozenset({"device", "number"}),
}
_USUAL_NAME = frozenset({"name"})
_OTHER_NAMES = frozenset(
    {"name", "address", "event", "device", "gpu_index", "collective"}
)
# marshal of this version writes no references to objects: equal content, equal bytes.
_VERSION = 2
_NOTHING = object()
# After so many nodes it is known which leaves differ on most nodes.
_LEARNT_AFTER = 32
_OFTEN = 0.1


def fingerprint(found: Any) -> bytes:  # noqa: ANN401 - content of JSON
    """Bytes that are equal for equal content of JSON, and for no other."""
    return dumps(found, _VERSION)


def shape(content: Content) -> tuple[object, ...]:
    """What two snapshots must share to be compared: which lists, and how long."""
    return (
        *(fingerprint(content.get(one)) for one in _AROUND),
        *(_size(content.get(kind, _NOTHING)) for kind in KINDS),
    )


def _size(found: object) -> object:
    return len(found) if isinstance(found, list) else type(found)


class Reference:
    """The content of a snapshot that others of its shape are compared with."""

    def __init__(self, content: Content) -> None:
        """Take the content, which is never changed."""
        self.content = content
        self._kinds: tuple[_Kind, ...] = ()

    def watch(self, leaves: Iterable[tuple[str, str]]) -> None:
        """Look at these leaves alone, each of all parts of a kind."""
        watched: dict[str, set[str]] = {}
        for kind, leaf in leaves:
            watched.setdefault(kind, set()).add(leaf)
        self._kinds = tuple(
            _Kind(kind, watched.get(kind, set()), self.content.get(kind))
            for kind in KINDS
        )

    def differences(self, content: Content) -> Iterator[KeyPath]:
        """The paths of the watched leaves that differ.

        The path of a list is its kind alone: its parts are called otherwise.
        """
        for kind in self._kinds:
            yield from kind.differences(content.get(kind.name))


class _Kind:
    """The parts of one kind of a reference."""

    def __init__(self, name: str, watched: set[str], found: object) -> None:
        self.name = name
        self._found = found
        self._bytes = fingerprint(found)
        self._is_single = name in _SINGLE_KINDS
        self._parts: list[Leaves] = []
        if self._is_single and isinstance(found, dict):
            self._parts = [found]
        elif isinstance(found, list) and all(isinstance(one, dict) for one in found):
            self._parts = found
        self._naming = self._names()
        self._watched = watched | self._naming
        self._differing: dict[str, int] = {}  # how often each leaf did
        self._compared = 0
        self._often: frozenset[str] = frozenset()
        self._sort()

    def _names(self) -> frozenset[str]:
        """The leaves that these parts are called by."""
        if self._is_single:
            return frozenset()
        known = _NAMING.get(self.name)
        if known is not None:
            return known
        are_named = all(isinstance(one.get("name"), str) for one in self._parts)
        is_measured = self.name in MEASURED
        return _USUAL_NAME if are_named and not is_measured else _OTHER_NAMES

    def _sort(self) -> None:
        """Sort the leaves: the ones that seldom differ are compared at once."""
        self._seldom = [
            _getter([one for one in part if one in self._watched - self._often])
            for part in self._parts
        ]
        self._usual = fingerprint(
            [get(part) for get, part in zip(self._seldom, self._parts, strict=True)]
        )
        # Watched leaves that a part does not have, and another node's may have.
        self._lacking = [
            (number, lacking)
            for number, part in enumerate(self._parts)
            if (lacking := tuple(one for one in self._watched if one not in part))
        ]

    def differences(self, found: object) -> Iterator[KeyPath]:
        if self._parts:
            parts = self._parts_like(found)
            if parts is not None:
                yield from self._of_parts(parts)
                return
        if fingerprint(found) != self._bytes:
            yield (self.name,)
            yield from self._all(found)

    def _parts_like(self, found: object) -> list[Leaves] | None:
        """The parts to compare, where they are as many."""
        parts: Any = [found] if self._is_single else found
        if not isinstance(parts, list) or len(parts) != len(self._parts):
            return None
        if not all(type(one) is dict for one in parts):
            return None
        like: list[Leaves] = parts
        return like

    def _all(self, found: object) -> Iterator[KeyPath]:
        """Every watched leaf: the parts cannot be told one from the other."""
        others = [found] if self._is_single else found
        count = max(len(self._parts), len(others) if isinstance(others, list) else 0)
        for number in range(count):
            for leaf in self._watched:
                yield self._path(number, leaf)

    def _path(self, number: int, leaf: str) -> KeyPath:
        return (self.name, leaf) if self._is_single else (self.name, number, leaf)

    def _of_parts(self, parts: list[Leaves]) -> Iterator[KeyPath]:
        looked_at = self._often
        if self._are_other(parts):
            looked_at = frozenset(self._watched)
        is_renamed = False
        for number, mine in enumerate(self._parts) if looked_at else ():
            other = parts[number]
            for leaf in looked_at:
                if _differ(mine, other, leaf):
                    is_renamed = is_renamed or leaf in self._naming
                    self._learn(leaf)
                    yield self._path(number, leaf)
        if is_renamed:
            yield (self.name,)
        self._compared += 1
        if self._compared == _LEARNT_AFTER:
            least = _OFTEN * _LEARNT_AFTER
            often = (one for one, count in self._differing.items() if count >= least)
            self._often = frozenset(often)
            self._sort()

    def _are_other(self, parts: list[Leaves]) -> bool:
        """Whether leaves differ that are usually the same."""
        for number, lacking in self._lacking:
            part = parts[number]
            if any(name in part for name in lacking):
                return True
        try:
            seldom = fingerprint(
                [get(part) for get, part in zip(self._seldom, parts, strict=True)]
            )
        except KeyError:
            return True
        return seldom != self._usual

    def _learn(self, leaf: str) -> None:
        if self._compared < _LEARNT_AFTER:
            self._differing[leaf] = self._differing.get(leaf, 0) + 1


def _differ(mine: Leaves, other: Leaves, leaf: str) -> bool:
    value, found = mine.get(leaf, _NOTHING), other.get(leaf, _NOTHING)
    if type(found) is not type(value):
        return True
    if isinstance(value, list | dict):
        return fingerprint(found) != fingerprint(value)
    return bool(found != value)


def _getter(names: list[str]) -> Callable[[Leaves], object]:
    if not names:
        return lambda _: ()
    return itemgetter(*names)
