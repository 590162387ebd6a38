"""What is usual in one's own fleet, as numbers and values that others are held to.

What a catalogue cannot know: the settings of a site, and what its machines reach. Of
each leaf the value of more than half of the nodes; of each number the range around its
median that is normal, once outliers are left out again and again until none is left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Literal

from speccheck.validator.evidence.fleet import RATES, VARIABLES, Samples, Shared
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.golden import Range

SCHEMA = "speccheck-fleet-profile/1"
LEAST_NODES = 8
# The range is so many deviations wide, and at least so wide a share of the median.
# Engineering defaults; what one measurement differs from the next by is 5 %.
_DEVIATIONS = 6.0
_LEAST_SHARE = 0.05
_TO_SIGMA = 1.4826  # of the median absolute deviation of a normal distribution
_MOST_NAMED = 3  # leaves in a refusal

Bad = Literal["high", "low", "both"]


class Judged(Record):
    """Which side of a number is bad, and how far it may always be from the median."""

    bad: Bad
    least_width: float = 0.0


# Engineering defaults. Counters are no state: they are for days side by side.
_NUMBERS: dict[str, Judged] = {
    "gpus.temperature_celsius": Judged("high", 5.0),
    "gpus.memory_temperature_celsius": Judged("high", 5.0),
    "gpus.power_watts": Judged("high", 25.0),
    "gpus.memory_used_bytes": Judged("high", 2.0**30),
    "host.clock_offset_milliseconds": Judged("both", 1.0),
    "host.memory_available_bytes": Judged("low"),
    "host.load_one_minute": Judged("high", 4.0),
}
_RATE = Judged("low")


class NoProfile(Exception):  # noqa: N818 - of a fleet, not of the program
    """Of this fleet no profile can be made; the message says why."""


class UsualValue(Record):
    """The value of a leaf that more than half have; of: nodes that tell the leaf."""

    leaf: str
    value: str
    nodes: int
    of: int


class UsualNumber(Record):
    """A number over nodes, without its outliers.

    deviation: the median absolute one. nodes, values: that made it. outliers: the nodes
    whose values were left out.
    """

    leaf: str
    median: float
    deviation: float
    normal: Range
    nodes: int
    values: int
    outliers: tuple[str, ...]


class LeftOut(Record):
    """Nodes or a leaf that are no part of the profile."""

    what: str
    why: str


class OwnProfile(Record):
    """The whole.

    nodes: that it is made of. knows_variables: whether any of them lists its variables.
    nodes_left_out, leaves_left_out: the others, and why.
    """

    nodes: int
    knows_variables: bool
    synthetic: int
    values: tuple[UsualValue, ...]
    numbers: tuple[UsualNumber, ...]
    nodes_left_out: tuple[LeftOut, ...]
    leaves_left_out: tuple[LeftOut, ...]


def own_profile(
    names: Sequence[str],
    left_out: Mapping[str, str],
    shared: Mapping[str, Shared],
    samples: Iterable[Samples],
    *,
    knows_variables: bool = True,
    synthetic: int = 0,
) -> OwnProfile:
    """Make the profile; raises NoProfile.

    Args:
        names: of all nodes, by number.
        left_out: nodes that are not fit, and why.
        shared: leaves over all nodes.
        samples: numbers over all nodes.
        knows_variables: whether any node lists its variables.
        synthetic: how many nodes are no machines.

    """
    kept = frozenset(names) - left_out.keys()
    if len(kept) < LEAST_NODES:
        fit = f"{len(kept)} of {len(set(names))} nodes are fit"
        message = f"no profile made: {fit}, and one takes {LEAST_NODES}"
        raise NoProfile(message)
    skipped: list[LeftOut] = []
    values = tuple(_values(shared, kept, skipped))
    numbers = tuple(_numbers(samples, names, kept, skipped))
    gone = (LeftOut(name, why) for name, why in left_out.items() if name in set(names))
    return OwnProfile(
        len(kept),
        knows_variables,
        synthetic,
        values,
        numbers,
        tuple(gone),
        tuple(skipped),
    )


def _values(
    shared: Mapping[str, Shared], kept: frozenset[str], skipped: list[LeftOut]
) -> Iterator[UsualValue]:
    split: list[str] = []
    for leaf, one in shared.items():
        counts = [(len(kept & set(group.hosts)), group.value) for group in one.groups]
        counts = sorted((count for count in counts if count[0]), reverse=True)
        told = sum(count for count, _ in counts)
        if told < LEAST_NODES:
            why = one.unseen[0].value if one.unseen and not told else "too few tell it"
            skipped.append(LeftOut(leaf, f"known of {told} nodes: {why}"))
            continue
        most, value = counts[0]
        if 2 * most > told:
            yield UsualValue(leaf, value, most, told)
        elif leaf.startswith(VARIABLES):
            why = f"{len(counts)} values, and none on more than half of the nodes"
            skipped.append(LeftOut(leaf, why))
        else:
            split.append(_split(leaf, counts))
    if split:
        more = len(split) - _MOST_NAMED
        named = "; ".join(split[:_MOST_NAMED]) + (f"; {more} more" if more > 0 else "")
        message = (
            "no profile made: what is usual has no majority, so this is not one fleet: "
            f"{named}; give the nodes of one kind alone"
        )
        raise NoProfile(message)


def _split(leaf: str, counts: Sequence[tuple[int, str]]) -> str:
    said = " and ".join(f"{value} on {count}" for count, value in counts[:2])
    return f"{leaf} is {said}" + (" and others" if len(counts) > 2 else "")  # noqa: PLR2004


def _numbers(
    samples: Iterable[Samples],
    names: Sequence[str],
    kept: frozenset[str],
    skipped: list[LeftOut],
) -> Iterator[UsualNumber]:
    for one in samples:
        judged = _NUMBERS.get(one.leaf)
        if judged is None and one.leaf.startswith(RATES):
            judged = _RATE
        if judged is None:
            continue
        pairs = [
            (names[number], value)
            for number, value in zip(one.nodes, one.values, strict=True)
            if names[number] in kept
        ]
        if len({name for name, _ in pairs}) < LEAST_NODES:
            number = len({name for name, _ in pairs})
            skipped.append(LeftOut(one.leaf, f"known of {number} nodes"))
            continue
        yield _number(one.leaf, pairs, judged)


def _number(
    leaf: str, pairs: Sequence[tuple[str, float]], judged: Judged
) -> UsualNumber:
    """The range of a number; what lies outside of it makes no part of it."""
    inside: list[tuple[str, float]] = []
    left = list(pairs)
    centre = deviation = width = 0.0
    while len(left) != len(inside):
        inside = left
        centre, deviation, width = _spread([value for _, value in inside], judged)
        left = [pair for pair in inside if abs(pair[1] - centre) <= width]
    least = None if judged.bad == "high" else centre - width
    most = None if judged.bad == "low" else centre + width
    names = {name for name, _ in inside}
    outliers = {name for name, value in pairs if abs(value - centre) > width}
    return UsualNumber(
        leaf,
        centre,
        deviation,
        Range(least, most),
        len(names),
        len(inside),
        tuple(sorted(outliers)),
    )


def _spread(values: Sequence[float], judged: Judged) -> tuple[float, float, float]:
    """Median, median absolute deviation, and how far from it is normal."""
    centre = median(values)
    deviation = median(abs(value - centre) for value in values)
    width = max(
        _DEVIATIONS * _TO_SIGMA * deviation,
        _LEAST_SHARE * abs(centre),
        judged.least_width,
    )
    return centre, deviation, width
