"""Which nodes have which value of the leaves that all should share."""

from array import array
from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.evidence.fleet import VARIABLES, Group, Shared
from speccheck.validator.fleet.shared_values import Profile

NOT_SET = "not set"
_ByText = dict[str, "array[int]"]


class Distributions:
    """The numbers of the nodes by all that they say of what they should share.

    Most nodes of a fleet say the same, and are one row here.
    """

    def __init__(self) -> None:
        """Begin without a node."""
        self.alike: dict[Profile, array[int]] = {}

    def add(self, number: int, profile: Profile) -> None:
        """Take what a node says."""
        numbers = self.alike.get(profile)
        if numbers is None:
            numbers = self.alike[profile] = array("I")
        numbers.append(number)

    def add_facts(self, number: int, facts: Mapping[str, str]) -> None:
        """Take what a result line says of a node."""
        told = tuple((leaf, text, True) for leaf, text in facts.items())
        self.add(number, (told, False))

    def take(self, other: "Distributions", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for profile, numbers in other.alike.items():
            self.alike.setdefault(profile, array("I")).extend(moved(numbers, base))

    @property
    def with_variables(self) -> list[int]:
        """The nodes that list their variables: one that is not there is not set."""
        return [
            number
            for (_, knows_variables), numbers in self.alike.items()
            if knows_variables
            for number in numbers
        ]

    def shared(self, names: Sequence[str]) -> Iterator[Shared]:
        """Each leaf over all nodes, whose names these are."""
        known: dict[str, _ByText] = {}
        unseen: dict[str, _ByText] = {}
        with_variables = self.with_variables
        for (leaves, _), numbers in self.alike.items():
            for leaf, text, is_known in leaves:
                values = (known if is_known else unseen).setdefault(leaf, {})
                values.setdefault(text, array("I")).extend(numbers)
        for leaf in dict.fromkeys((*known, *unseen)):
            values = known.get(leaf, {})
            if leaf.startswith(VARIABLES):
                setters = {number for one in values.values() for number in one}
                without = [one for one in with_variables if one not in setters]
                if without:
                    values[NOT_SET] = array("I", without)
            yield Shared(
                leaf, _groups(values, names), _groups(unseen.get(leaf, {}), names)
            )


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
