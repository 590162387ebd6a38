"""Leaves over all nodes of a fleet: who has another value than most, who tells none.

Leaves that differ on the same nodes are one difference: of another driver come another
kernel module, another CUDA and other firmware, and it is still one thing to mend.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from speccheck.validator.evidence.fleet import Fleet, NodeGroup, Shared
from speccheck.validator.evidence.record import Record

MOST_KINDS = 8  # of odd nodes that are told apart; the rest is told as one
_OTHERS = "other values"
_MIXED = " and "  # as shared_values.py joins them
_UNTOLD = "what they reported does not tell it"


class ComparedNodes(Record):
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
    """An unusual value of a leaf, with the nodes that have the usual one."""

    compared: ComparedNodes
    value: str
    usual: NodeGroup


class OddNodes(Record):
    """Nodes that differ from the usual, in one leaf or in several."""

    hosts: tuple[str, ...]
    leaves: tuple[Odd, ...]


class NodeDivision(Record):
    """Groups of nodes of which none is more than half, with what they differ in."""

    groups: tuple[tuple[str, ...], ...]
    leaves: tuple[tuple[ComparedNodes, tuple[str, ...]], ...]


class Untold(Record):
    """Nodes for which the values of some leaves are unknown, and why."""

    hosts: tuple[str, ...]
    reason: str
    leaves: tuple[ComparedNodes, ...]


class Differences(Record):
    """What comparing some leaves over a fleet gives.

    alike: the leaves that all nodes which tell them have in common, with the value.
    is_partial: whether some nodes are left to the rules on each node.
    """

    odd: tuple[OddNodes, ...]
    divided: tuple[NodeDivision, ...]
    untold: tuple[Untold, ...]
    alike: tuple[tuple[ComparedNodes, str], ...]
    is_partial: bool = False


def differences(fleet: Fleet, leaves: Sequence[ComparedNodes]) -> Differences:
    """Compare some leaves over all nodes of a fleet."""
    comparisons = [(leaf, fleet.shared.get(leaf.leaf)) for leaf in leaves]
    return differing(fleet, comparisons)


def differing(
    fleet: Fleet, leaves: Iterable[tuple[ComparedNodes, Shared | None]]
) -> Differences:
    """Return the same, of leaves that are not those of the fleet as they stand."""
    odd: dict[tuple[str, ...], list[Odd]] = {}
    divided: dict[tuple[tuple[str, ...], ...], list[tuple[ComparedNodes, Shared]]] = {}
    untold: dict[tuple[tuple[str, ...], str], list[ComparedNodes]] = {}
    alike: list[tuple[ComparedNodes, str]] = []
    is_partial = False
    for compared, shared in leaves:
        if compared.is_needed:
            for hosts, reason in _untold(fleet, shared):
                untold.setdefault((hosts, reason), []).append(compared)
        if shared is None or not shared.groups:
            continue
        result = _near(shared, compared.share) if compared.share else shared
        if compared.is_of_parts:
            whole = _without_mixed(result)
            is_partial = is_partial or whole is not result
            result = whole
        usual = result.usual
        if len(result.groups) <= 1:
            alike.extend((compared, group.value) for group in result.groups)
        elif usual is None:
            parts = tuple(group.hosts for group in result.groups)
            divided.setdefault(parts, []).append((compared, result))
        else:
            for value, hosts in _kinds(result.groups[1:]):
                odd.setdefault(hosts, []).append(Odd(compared, value, usual))
    return Differences(
        tuple(OddNodes(hosts, tuple(odds)) for hosts, odds in odd.items()),
        tuple(_division(parts, comparisons) for parts, comparisons in divided.items()),
        tuple(
            Untold(hosts, reason, tuple(compareds))
            for (hosts, reason), compareds in untold.items()
        ),
        tuple(alike),
        is_partial,
    )


def _kinds(groups: Sequence[NodeGroup]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the odd values, and as one value the many that few nodes have."""
    whole = groups if len(groups) <= MOST_KINDS else groups[: MOST_KINDS - 1]
    yield from whole
    rest = [host for group in groups[len(whole) :] for host in group.hosts]
    if rest:
        yield _OTHERS, tuple(sorted(rest))


def _division(
    parts: tuple[tuple[str, ...], ...],
    comparisons: Sequence[tuple[ComparedNodes, Shared]],
) -> NodeDivision:
    return NodeDivision(
        parts,
        tuple(
            (compared, tuple(group.value for group in shared.groups))
            for compared, shared in comparisons
        ),
    )


def _untold(
    fleet: Fleet, shared: Shared | None
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the nodes that do not state a leaf, by why they do not."""
    if shared is None:
        yield (), _UNTOLD
        return
    known = (*shared.groups, *shared.unseen)
    if not shared.groups:
        # Nobody tells it: that is said once, and not of each node.
        yield (), shared.unseen[0].value if shared.unseen else _UNTOLD
        return
    yield from ((group.hosts, group.value) for group in shared.unseen)
    if sum(len(group.hosts) for group in known) < len(fleet.nodes):
        seen = {host for group in known for host in group.hosts}
        rest = sorted({node.name for node in fleet.nodes} - seen)
        if rest:
            yield tuple(rest), _UNTOLD


def _without_mixed(shared: Shared) -> Shared:
    groups = tuple(group for group in shared.groups if _MIXED not in group.value)
    is_whole = len(groups) == len(shared.groups)
    return shared if is_whole else shared._replace(groups=groups)


def _near(shared: Shared, share: float) -> Shared:
    """Return the same, numbers near the median of all nodes being one value."""
    numbers = {group.value: _number(group.value) for group in shared.groups}
    known = [
        number
        for group in shared.groups
        if (number := numbers[group.value]) is not None
        for _ in group.hosts
    ]
    if not known:
        return shared
    middle = median(known)
    near: list[NodeGroup] = []
    far: list[NodeGroup] = []
    for group in shared.groups:
        number = numbers[group.value]
        is_near = number is not None and abs(number - middle) <= share * abs(middle)
        (near if is_near else far).append(group)
    if not near:
        return shared
    hosts = tuple(sorted(host for group in near for host in group.hosts))
    groups = [NodeGroup(near[0].value, hosts), *far]
    groups.sort(key=lambda group: (-len(group.hosts), group.value))
    return shared._replace(groups=tuple(groups))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def by_key(shared: Shared | None) -> Iterator[tuple[str, Shared]]:
    """Yield each part that at least half of the nodes have, with its values over them.

    `eth0 1500, ib0 2044` is two parts. What few nodes have, such as the interface of a
    container, is nothing that nodes share.
    """
    if shared is None:
        return
    result: dict[str, dict[str, list[str]]] = {}
    nodes = 0
    for group in shared.groups:
        nodes += len(group.hosts)
        for part in group.value.split(", "):
            name, _, value = part.rpartition(" ")
            hosts = result.setdefault(name, {}).setdefault(value, [])
            hosts.extend(group.hosts)
    for name, values in result.items():
        if name and 2 * sum(map(len, values.values())) >= nodes:
            groups = (NodeGroup(value, tuple(hosts)) for value, hosts in values.items())
            ordered = sorted(groups, key=lambda group: (-len(group.hosts), group.value))
            yield name, Shared(shared.leaf, tuple(ordered))


_BARE = "none"


def are_places_fixed(fleet: Fleet) -> bool:
    """Return whether slots decide; a hypervisor deals places out as it likes."""
    shared = fleet.shared.get("host.virtualisation")
    return shared is not None and {group.value for group in shared.groups} == {_BARE}
