"""Leaves that hold a value for each of several parts, taken apart by part."""

from collections.abc import Iterator

from speccheck.validator.evidence.fleet import Group, Shared


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
