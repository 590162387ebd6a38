"""Readings under which a rule is known to pass: then it need not be asked again.

Most of what differs from node to node is a few small numbers, such as temperatures, and
a rule that passed under some of them passes whenever it reads the same.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.fleet.differences import fingerprint

Content = Mapping[str, Any]
_Readings = tuple[object, ...]
# Readings, after which a table is worth its lookups or is not; where none came twice it
# is not after far fewer.
_LEARNT_AFTER = 1024
_FEW = 48
_LARGEST = 4096
_MOST_NEW = 0.5  # of what is learnt: numbers that never come again
_OWN = -1  # stands for the number of the part that is judged
_NOTHING = object()
_PLAIN = (int, str)  # of which equal ones are of one type
_LIST = 1  # the length of the path of a whole list


class Passing:
    """What one rule read when it passed, for any of the parts that it judges.

    Lists are taken for those of the node with which others are compared.
    """

    __slots__ = ("_kind", "_learnt", "_tables", "is_worth_it")

    def __init__(self, kind: str) -> None:
        """Begin with nothing known; kind: of the parts, empty for a whole node."""
        self._kind = kind
        self._tables: dict[tuple[KeyPath, ...], set[_Readings]] = {}
        self._learnt = 0
        self.is_worth_it = True

    @property
    def is_learning(self) -> bool:
        """Whether what is read is still to be noted."""
        return self.is_worth_it and self._learnt < _LEARNT_AFTER

    def knows(self, content: Content, part: int) -> bool:
        """Whether it passes, by what it reads of this snapshot."""
        for paths, table in self._tables.items():
            if _readings(content, paths, part) in table:
                return True
        return False

    def learn(self, content: Content, reads: Iterable[KeyPath], part: int) -> None:
        """Note that it passed, and by what."""
        self._learnt += 1
        paths = tuple(
            sorted(
                (self._relative(one, part) for one in reads if len(one) > _LIST),
                key=str,
            )
        )
        table = self._tables.setdefault(paths, set())
        table.add(_readings(content, paths, part))
        if self._learnt in {_FEW, _LEARNT_AFTER} or len(table) > _LARGEST:
            known = sum(map(len, self._tables.values()))
            most = _FEW - 1 if self._learnt == _FEW else _MOST_NEW * _LEARNT_AFTER
            self.is_worth_it = known <= most
            if not self.is_worth_it:
                self._tables = {}

    def _relative(self, path: KeyPath, part: int) -> KeyPath:
        """The path, with the number of the part left open where it leads into that."""
        if path[:2] == (self._kind, part):
            return self._kind, _OWN, *path[2:]
        return path


def _readings(content: Content, paths: Iterable[KeyPath], part: int) -> _Readings:
    found: list[object] = []
    for path in paths:
        value: Any = content.get(str(path[0]))
        if len(path) > 2:  # noqa: PLR2004 - of a list, by number
            at: Any = part if path[1] == _OWN else path[1]
            value = value[at] if isinstance(value, list) else None
        name = path[len(path) - 1]
        leaf = value.get(name, _NOTHING) if isinstance(value, dict) else _NOTHING
        is_plain = type(leaf) in _PLAIN or leaf is _NOTHING
        found.append(leaf if is_plain else fingerprint(leaf))
    return tuple(found)
