"""The leaves of a plan while a change is worked into them."""

from typing import Any

from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.context import COMMAND_LINE
from speccheck.validator.sources.joining.merge import Leaves, derive


class Draft:
    """Merged leaves that are being changed.

    Attributes:
        before: the leaves of the unchanged plan, with what follows from them.
        leaves: the changed ones, before anything is derived from them.
        remarks: what was kept or given up, for the user.

    """

    __slots__ = ("_derived", "_label", "_set", "before", "leaves", "remarks")

    def __init__(self, merged: Leaves, label: str) -> None:
        """Start from merged leaves; label: the change as the user wrote it."""
        self.before = derive(merged)
        self.leaves = dict(merged)
        self.remarks: list[str] = []
        self._label = label
        self._set: set[str] = set()
        self._derived: Leaves | None = None

    def put(self, leaf: Value[Any]) -> None:
        """Set a leaf as the user asked."""
        self.say(leaf)
        self._set.add(leaf.name)

    def say(self, leaf: Value[Any]) -> None:
        """Say something else of a leaf."""
        self.leaves[leaf.name] = leaf
        self._derived = None

    def is_set(self, *names: str) -> bool:
        """Whether the user set one of these."""
        return not self._set.isdisjoint(names)

    def drop(self, *names: str) -> None:
        """Forget what is said of leaves that the user did not set."""
        for name in names:
            if name not in self._set:
                self.leaves.pop(name, None)
                self._derived = None

    def follow(self, name: str, value: object, note: str) -> None:
        """Give a leaf that the user did not set the value that follows."""
        if name not in self._set:
            place = Place(COMMAND_LINE, self._label)
            self.say(Value(name, value, "derived", (place,), note))

    def keep(self, name: str) -> None:
        """Hold a leaf at its value in the unchanged plan, also a derived one.

        It counts as stated, so that what contradicts it is a fault and not a guess.
        """
        known = self.before.get(name)
        if name in self._set or known is None or known.value is None:
            return
        if known.status == "derived" and name not in self.leaves:
            place = Place(COMMAND_LINE, self._label)
            note = f"kept: {known.note}"
            self.say(Value(name, known.value, "stated", (place,), note))

    def old(self, name: str) -> Any:  # noqa: ANN401 - leaves hold any type
        """The value in the unchanged plan."""
        leaf = self.before.get(name)
        return None if leaf is None else leaf.value

    def new(self, name: str) -> Any:  # noqa: ANN401 - leaves hold any type
        """The value by what is changed so far, derived where it follows."""
        if self._derived is None:
            self._derived = derive(self.leaves)
        leaf = self._derived.get(name)
        return None if leaf is None else leaf.value

    def changes(self, name: str) -> bool:
        """Whether the value differs from the unchanged plan's."""
        return bool(self.old(name) != self.new(name))
