"""Which nodes have which value of the leaves that all should share."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.fleet.fleet import Group, Shared
from speccheck.validator.evidence.fleet.leaves import VARIABLES
from speccheck.validator.fleet.shared_values import (
    Unseen,
    knows_variables,
    shared_values,
    variables,
)

NOT_SET = "not set"
_ByText = dict[str, "array[int]"]


class Distributions:
    """The numbers of the nodes by leaf and value."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.known: dict[str, _ByText] = {}
        self.unseen: dict[str, _ByText] = {}
        self.with_variables = array("I")

    def add(self, number: int, content: Mapping[str, Any]) -> None:
        """Take what the snapshot of a node says."""
        for leaf, text in shared_values(content):
            target = self.unseen if isinstance(text, Unseen) else self.known
            _note(target, leaf, text, number)
        if knows_variables(content):
            self.with_variables.append(number)
            for leaf, text in variables(content):
                _note(self.known, leaf, text, number)

    def add_facts(self, number: int, facts: Mapping[str, str]) -> None:
        """Take what a result line says of a node."""
        for leaf, text in facts.items():
            _note(self.known, leaf, text, number)

    def take(self, other: "Distributions", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for target, source in (
            (self.known, other.known),
            (self.unseen, other.unseen),
        ):
            for leaf, values in source.items():
                mine = target.setdefault(leaf, {})
                for text, numbers in values.items():
                    mine.setdefault(text, array("I")).extend(moved(numbers, base))
        self.with_variables.extend(moved(other.with_variables, base))

    def shared(self, names: Sequence[str]) -> Iterator[Shared]:
        """Each leaf over all nodes, whose names these are."""
        for leaf in dict.fromkeys((*self.known, *self.unseen)):
            values = dict(self.known.get(leaf, {}))
            if leaf.startswith(VARIABLES):
                setters = {number for one in values.values() for number in one}
                without = [one for one in self.with_variables if one not in setters]
                if without:
                    values[NOT_SET] = array("I", without)
            unseen = self.unseen.get(leaf, {})
            yield Shared(leaf, _groups(values, names), _groups(unseen, names))


def moved(numbers: "array[int]", base: int) -> "array[int]":
    """The same nodes, numbered behind others."""
    return array("I", [one + base for one in numbers])


def _groups(values: _ByText, names: Sequence[str]) -> tuple[Group, ...]:
    """The largest first; of two alike, the one that comes first by its text."""
    groups = (
        Group(text, tuple(sorted(names[number] for number in numbers)))
        for text, numbers in values.items()
    )
    return tuple(sorted(groups, key=lambda one: (-len(one.hosts), one.value)))


def _note(by_leaf: dict[str, _ByText], leaf: str, text: str, number: int) -> None:
    values = by_leaf.get(leaf)
    if values is None:
        values = by_leaf[leaf] = {}
    numbers = values.get(text)
    if numbers is None:
        numbers = values[text] = array("I")
    numbers.append(number)
