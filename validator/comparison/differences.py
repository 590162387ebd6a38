"""Leaves over all nodes of a fleet: who has another value than most, who tells none.

Leaves that differ on the same nodes are one difference: of another driver come another
kernel module, another CUDA and other firmware, and it is still one thing to mend.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from speccheck.validator.evidence.fleet import Fleet, Group, Shared
from speccheck.validator.evidence.record import Record

MOST_KINDS = 8  # of odd nodes that are told apart; the rest is told as one
_OTHERS = "other values"
_MIXED = " and "  # as shared_values.py joins them
_UNTOLD = "what they reported does not tell it"


class Compared(Record):
    """A leaf that is compared.

    label: in messages. is_needed: whether a node that does not tell it is undecided; a
    leaf that only comes along with another one is not. share: numbers that lie within
    this share of the median are alike. is_size: in bytes. is_of_parts: nodes whose own
    parts differ (`A and B`) are left to the rules on each node.
    """

    leaf: str
    label: str
    is_needed: bool = True
    share: float = 0.0
    is_size: bool = False
    is_of_parts: bool = False


class Odd(Record):
    """A leaf as some nodes have it, beside the usual value."""

    compared: Compared
    value: str
    usual: Group


class OddNodes(Record):
    """Nodes that differ from the usual, in one leaf or in several."""

    hosts: tuple[str, ...]
    leaves: tuple[Odd, ...]


class Division(Record):
    """Groups of nodes of which none is more than half, with what they differ in."""

    groups: tuple[tuple[str, ...], ...]
    leaves: tuple[tuple[Compared, tuple[str, ...]], ...]


class Untold(Record):
    """Nodes that do not tell some leaves, and why."""

    hosts: tuple[str, ...]
    reason: str
    leaves: tuple[Compared, ...]


class Differences(Record):
    """What comparing some leaves over a fleet gives.

    alike: the leaves that all nodes which tell them have in common, with the value.
    is_partial: whether some nodes are left to the rules on each node.
    """

    odd: tuple[OddNodes, ...]
    divided: tuple[Division, ...]
    untold: tuple[Untold, ...]
    alike: tuple[tuple[Compared, str], ...]
    is_partial: bool = False


def differences(fleet: Fleet, leaves: Sequence[Compared]) -> Differences:
    """Compare some leaves over all nodes of a fleet."""
    told = [(one, fleet.shared.get(one.leaf)) for one in leaves]
    return differing(fleet, told)


def differing(
    fleet: Fleet, leaves: Iterable[tuple[Compared, Shared | None]]
) -> Differences:
    """The same, of leaves that are not those of the fleet as they stand."""
    odd: dict[tuple[str, ...], list[Odd]] = {}
    divided: dict[tuple[tuple[str, ...], ...], list[tuple[Compared, Shared]]] = {}
    untold: dict[tuple[tuple[str, ...], str], list[Compared]] = {}
    alike: list[tuple[Compared, str]] = []
    is_partial = False
    for compared, shared in leaves:
        if compared.is_needed:
            for hosts, reason in _untold(fleet, shared):
                untold.setdefault((hosts, reason), []).append(compared)
        if shared is None or not shared.groups:
            continue
        found = _near(shared, compared.share) if compared.share else shared
        if compared.is_of_parts:
            whole = _without_mixed(found)
            is_partial = is_partial or whole is not found
            found = whole
        usual = found.usual
        if len(found.groups) <= 1:
            alike.extend((compared, one.value) for one in found.groups)
        elif usual is None:
            parts = tuple(one.hosts for one in found.groups)
            divided.setdefault(parts, []).append((compared, found))
        else:
            for value, hosts in _kinds(found.groups[1:]):
                odd.setdefault(hosts, []).append(Odd(compared, value, usual))
    return Differences(
        tuple(OddNodes(hosts, tuple(found)) for hosts, found in odd.items()),
        tuple(_division(parts, found) for parts, found in divided.items()),
        tuple(
            Untold(hosts, reason, tuple(found))
            for (hosts, reason), found in untold.items()
        ),
        tuple(alike),
        is_partial,
    )


def _kinds(groups: Sequence[Group]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The odd values, the many that few nodes have as one."""
    whole = groups if len(groups) <= MOST_KINDS else groups[: MOST_KINDS - 1]
    yield from whole
    rest = [host for one in groups[len(whole) :] for host in one.hosts]
    if rest:
        yield _OTHERS, tuple(sorted(rest))


def _division(
    parts: tuple[tuple[str, ...], ...], found: Sequence[tuple[Compared, Shared]]
) -> Division:
    return Division(
        parts,
        tuple(
            (compared, tuple(one.value for one in shared.groups))
            for compared, shared in found
        ),
    )


def _untold(
    fleet: Fleet, shared: Shared | None
) -> Iterator[tuple[tuple[str, ...], str]]:
    """The nodes that do not tell a leaf, by why they do not."""
    if shared is None:
        yield (), _UNTOLD
        return
    known = (*shared.groups, *shared.unseen)
    if not shared.groups:
        # Nobody tells it: that is said once, and not of each node.
        yield (), shared.unseen[0].value if shared.unseen else _UNTOLD
        return
    yield from ((one.hosts, one.value) for one in shared.unseen)
    if sum(len(one.hosts) for one in known) < len(fleet.nodes):
        seen = {host for one in known for host in one.hosts}
        rest = sorted({one.name for one in fleet.nodes} - seen)
        if rest:
            yield tuple(rest), _UNTOLD


def _without_mixed(shared: Shared) -> Shared:
    groups = tuple(one for one in shared.groups if _MIXED not in one.value)
    is_whole = len(groups) == len(shared.groups)
    return shared if is_whole else shared._replace(groups=groups)


def _near(shared: Shared, share: float) -> Shared:
    """The same, numbers near the median of all nodes being one value."""
    numbers = {one.value: _number(one.value) for one in shared.groups}
    known = [
        number
        for one in shared.groups
        if (number := numbers[one.value]) is not None
        for _ in one.hosts
    ]
    if not known:
        return shared
    middle = median(known)
    near: list[Group] = []
    far: list[Group] = []
    for one in shared.groups:
        number = numbers[one.value]
        is_near = number is not None and abs(number - middle) <= share * abs(middle)
        (near if is_near else far).append(one)
    if not near:
        return shared
    hosts = tuple(sorted(host for one in near for host in one.hosts))
    groups = [Group(near[0].value, hosts), *far]
    groups.sort(key=lambda one: (-len(one.hosts), one.value))
    return shared._replace(groups=tuple(groups))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def by_key(shared: Shared | None) -> Iterator[tuple[str, Shared]]:
    """Each part that at least half of the nodes have, with its values over them.

    `eth0 1500, ib0 2044` is two parts. What few nodes have, such as the interface of a
    container, is nothing that nodes share.
    """
    if shared is None:
        return
    told: dict[str, dict[str, list[str]]] = {}
    nodes = 0
    for group in shared.groups:
        nodes += len(group.hosts)
        for part in group.value.split(", "):
            name, _, value = part.rpartition(" ")
            hosts = told.setdefault(name, {}).setdefault(value, [])
            hosts.extend(group.hosts)
    for name, values in told.items():
        if name and 2 * sum(map(len, values.values())) >= nodes:
            groups = (Group(value, tuple(hosts)) for value, hosts in values.items())
            ordered = sorted(groups, key=lambda one: (-len(one.hosts), one.value))
            yield name, Shared(shared.leaf, tuple(ordered))


_BARE = "none"


def are_places_fixed(fleet: Fleet) -> bool:
    """Whether slots decide; a hypervisor deals places out as it likes."""
    found = fleet.shared.get("host.virtualisation")
    return found is not None and {one.value for one in found.groups} == {_BARE}
