"""Where the content of two snapshots differs, leaf by leaf.

Exact to the type: 1, 1.0 and true are three values. Equal parts are found by their
bytes, which costs a hundredth of looking at each leaf.
"""

from collections.abc import Iterator, Mapping
from marshal import dumps
from typing import Any

from speccheck.validator.evidence.node.node import KINDS, SINGLES
from speccheck.validator.evidence.value import KeyPath

Content = Mapping[str, Any]
_SINGLE_KINDS = frozenset(one.kind for one in SINGLES)
# Beside its leaves, what tells how a part is called and whether a list is whole.
_AROUND = ("cut_short", "partly_listed", "sources")
# Leaves that a part is called by (Node): where one differs, the part is another one.
_NAMING = frozenset({"name", "address", "event", "device", "number", "pci_address"})
# marshal of this version writes no references to objects: equal content, equal bytes.
_VERSION = 2
_NOTHING = object()


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
    """The content of a snapshot that others are compared with."""

    def __init__(self, content: Content) -> None:
        """Take the content; it is never changed."""
        self.content = content
        self._bytes = {kind: fingerprint(content.get(kind)) for kind in KINDS}
        self._of_parts = {
            kind: [fingerprint(one) for one in content[kind]]
            for kind in KINDS
            if isinstance(content.get(kind), list)
        }

    def differences(self, content: Content) -> Iterator[KeyPath]:
        """The paths of the leaves that differ, in a snapshot of the same shape.

        The path of a list is its kind alone: its parts are called otherwise.
        """
        known = self.content
        for kind in KINDS:
            mine, other = known.get(kind), content.get(kind)
            if fingerprint(other) == self._bytes[kind]:
                continue
            if kind in _SINGLE_KINDS:
                for leaf in _leaves(mine, other):
                    yield kind, leaf
            elif isinstance(mine, list) and isinstance(other, list):
                yield from self._of_list(kind, mine, other)
            else:
                yield (kind,)

    def _of_list(
        self, kind: str, mine: list[Any], other: list[Any]
    ) -> Iterator[KeyPath]:
        fingerprints = self._of_parts[kind]
        is_renamed = False
        for number, part in enumerate(other):
            if fingerprint(part) == fingerprints[number]:
                continue
            for leaf in _leaves(mine[number], part):
                is_renamed = is_renamed or leaf in _NAMING
                yield kind, number, leaf
        if is_renamed:
            yield (kind,)


def _leaves(mine: object, other: object) -> Iterator[str]:
    """The names of the leaves in which two parts differ."""
    if not isinstance(mine, dict) or not isinstance(other, dict):
        mine, other = {}, other if isinstance(other, dict) else {}
    for name, value in mine.items():
        found = other.get(name, _NOTHING)
        if type(found) is not type(value):
            yield name
        elif isinstance(value, list | dict):
            if fingerprint(found) != fingerprint(value):
                yield name
        elif found != value:
            yield name
    if other.keys() - mine.keys():
        yield from (name for name in other if name not in mine)
