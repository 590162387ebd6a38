"""Snapshots and captures of one machine as one node, as far as they agree."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from speccheck.validator.evidence.node.node import (
    MEASURED,
    PART_KEYS,
    SEVERAL,
    SINGLES,
    SPECIMENS,
    Node,
)
from speccheck.validator.evidence.node.part import SnapshotFile
from speccheck.validator.evidence.value import KeyPath, Place

Leaves = Mapping[str, object]
Listed = dict[tuple[object, ...], int]

# What does not change while a machine is the same.
_IDENTITY = SPECIMENS | {
    "gpus.name",
    "gpus.pci_device_id",
    "driver.version",
    "host.memory_total_bytes",
    "pci_devices.device",
}
_DIGEST = "hashed:"
# Parts that name their log by its number.
_OF_LOGS = frozenset({"metrics", "run_events"})


def agree(nodes: Sequence[Node]) -> bool:
    """Return whether nothing says that these are several machines."""
    return not any(_differ(left, right) for left, right in combinations(nodes, 2))


def _differ(left: Node, right: Node) -> bool:
    for single in SINGLES:
        pair = _mapping(left, single.kind), _mapping(right, single.kind)
        if _are_two(single.kind, *pair):
            return True
    for several in SEVERAL:
        kind = several.part.kind
        mine, other = _list(left, kind), _list(right, kind)
        if mine is None or other is None or kind in MEASURED:
            continue
        keys, other_keys = _by_key(kind, mine), _by_key(kind, other)
        if keys is None or other_keys is None:
            # Told apart by their numbers alone: that takes two whole lists.
            are_whole = _is_whole(left, kind) and _is_whole(right, kind)
            if not are_whole or len(mine) != len(other):
                return True
            pairs = [*zip(mine, other, strict=True)]
        else:
            lacks = other_keys.keys() - keys.keys(), keys.keys() - other_keys.keys()
            if kind == "gpus" and (
                (lacks[0] and _is_whole(left, kind))
                or (lacks[1] and _is_whole(right, kind))
            ):
                return True
            both = keys.keys() & other_keys.keys()
            pairs = [(mine[keys[key]], other[other_keys[key]]) for key in both]
        if any(_are_two(kind, *pair) for pair in pairs):
            return True
    return False


def _are_two(kind: str, left: Leaves, right: Leaves) -> bool:
    for name in left.keys() & right.keys():
        result, other = left[name], right[name]
        if f"{kind}.{name}" not in _IDENTITY or result == other:
            continue
        if isinstance(result, Mapping) or isinstance(other, Mapping):
            continue
        if str(result).startswith(_DIGEST) == str(other).startswith(_DIGEST):
            return True
    return False


def joined(nodes: Sequence[Node]) -> Node:
    """Return one node of all that these say; what they say differently is not known."""
    if len(nodes) == 1:
        return nodes[0]
    join = _Join()
    for node in nodes:
        join.add(node)
    return join.node(nodes)


class _Join:
    """The leaves of the node in the making, and where each stands."""

    def __init__(self) -> None:
        self._data: dict[str, object] = {}
        self._places: dict[KeyPath, Place] = {}
        self._sources: dict[str, str] = {}
        self._partial: dict[str, str] = {}
        self._logs = 0  # run logs of the nodes before the one that is added

    def add(self, node: Node) -> None:
        self._logs = len(_logs_of(self._data))
        for name, source in node.file.sources.items():
            self._sources.setdefault(name, source)
        for single in SINGLES:
            leaves = _mapping(node, single.kind)
            if leaves:
                mine = self._data.setdefault(single.kind, {})
                if isinstance(mine, dict):
                    self._add(mine, (single.kind,), leaves, node, (single.kind,))
            elif reason := node.file.cut_short.get(single.kind):
                self._partial.setdefault(single.kind, reason)
        for several in SEVERAL:
            self._add_all(several.part.kind, node)

    def _add_all(self, kind: str, node: Node) -> None:
        result = node.data.get(kind)
        listed = _list(node, kind)
        mine = self._data.get(kind)
        if listed is None:
            if mine is None and result is not None:
                self._data[kind] = result  # why it could not be listed
                self._places[(kind,)] = node.file.place((kind,))
            return
        if not isinstance(mine, list):
            mine = self._data[kind] = []
            self._places[(kind,)] = node.file.place((kind,))
            self._partial.pop(kind, None)
            if not _is_whole(node, kind):
                self._partial[kind] = node.file.cut_short[kind]
        elif _is_whole(node, kind) and kind in self._partial:
            del self._partial[kind]
            self._places[(kind,)] = node.file.place((kind,))
        for number, target in self._matched(kind, mine, listed):
            at, path = (kind, target), (kind, number)
            leaves = listed[number]
            if self._logs and kind in _OF_LOGS:
                leaves = _of_later_log(leaves, self._logs)
            self._add(mine[target], at, leaves, node, path)

    def _matched(
        self, kind: str, mine: list[dict[str, object]], listed: list[Leaves]
    ) -> Iterator[tuple[int, int]]:
        """Yield the number of each part of the list, and that of the same part here."""
        if kind in MEASURED:  # each is another one, also of the same
            for number in range(len(listed)):
                mine.append({})
                yield number, len(mine) - 1
            return
        known, keys = _by_key(kind, mine), _by_key(kind, listed)
        by_number = known is None or keys is None
        for number, leaves in enumerate(listed):
            key = _key(kind, leaves)
            if by_number and mine and number < len(mine):
                yield number, number
                continue
            target = None if known is None or key is None else known.get(key)
            if target is None:
                mine.append({})
                target = len(mine) - 1
            yield number, target

    def _add(
        self,
        mine: dict[str, object],
        at: KeyPath,
        leaves: Leaves,
        node: Node,
        path: KeyPath,
    ) -> None:
        for name, leaf in leaves.items():
            place = node.file.place((*path, name))
            known = mine.get(name)
            if known is None or (
                isinstance(known, Mapping) and not isinstance(leaf, Mapping)
            ):
                mine[name] = leaf
                self._places[(*at, name)] = place
            elif not isinstance(leaf, Mapping) and leaf != known:
                merged = _merged(known, leaf)
                if merged is None:
                    first = self._places[(*at, name)]
                    message = f"{first.file} and {place.file} differ in it"
                    merged = {"status": "failed", "message": message}
                mine[name] = merged

    def node(self, nodes: Sequence[Node]) -> Node:
        taken = next((node.taken for node in nodes if node.taken), "")
        name = nodes[0].file.name
        file = SnapshotFile(name, self._sources, self._partial, self._places)
        lists = {"partly_listed": sorted(self._partial)}
        by = next((node.synthetic for node in nodes if node.synthetic), "")
        made_up = {"synthetic": {"by": by}} if by else {}
        return Node({**self._data, **lists, **made_up}, file, taken)


def _logs_of(data: Mapping[str, object]) -> list[object]:
    result = data.get("run_logs")
    return result if isinstance(result, list) else []


def _of_later_log(leaves: Leaves, before: int) -> Leaves:
    """Return what renumbers a series or event of a log for the list of all logs."""
    log = leaves.get("log")
    return {**leaves, "log": log + before} if isinstance(log, int) else leaves


def _merged(known: object, result: object) -> object:
    """Return the merger of lists that fill each other's gaps.

    Digests beside the hidden.
    """
    if isinstance(known, list) and isinstance(result, list):
        if len(known) != len(result):
            return None
        pairs = [*zip(known, result, strict=True)]
        if all(item is None or other is None or item == other for item, other in pairs):
            return [other if item is None else item for item, other in pairs]
    digests = [str(item).startswith(_DIGEST) for item in (known, result)]
    return known if digests.count(True) == 1 else None


def _mapping(node: Node, kind: str) -> Leaves:
    result = node.data.get(kind)
    return result if isinstance(result, Mapping) else {}


def _list(node: Node, kind: str) -> list[Leaves] | None:
    result = node.data.get(kind)
    if not isinstance(result, list):
        return None
    return [item for item in result if isinstance(item, Mapping)]


def _is_whole(node: Node, kind: str) -> bool:
    return kind not in node.partly_listed


def _by_key(kind: str, listed: Sequence[Leaves]) -> Listed | None:
    """Return the number of each part by its key; None where some have none."""
    result: Listed = {}
    for number, leaves in enumerate(listed):
        key = _key(kind, leaves)
        if key is None or key in result:
            return None
        result[key] = number
    return result


def _key(kind: str, leaves: Leaves) -> tuple[object, ...] | None:
    names = PART_KEYS.get(kind, ())
    key = tuple(leaves.get(name) for name in names)
    if not key or not all(isinstance(item, str | int) for item in key):
        return None
    return key
