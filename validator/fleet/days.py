"""A fleet on two days: who came and went, what changed, what grew, who flipped."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import median

from speccheck.validator.evidence.fleet import VARIABLES, Shared
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.shard import EVENTS, CounterStore, is_grave
from speccheck.validator.fleet.shared_values import NOT_SET
from speccheck.validator.fleet.verdict import FleetVerdict

_HOUR = 3600.0
# How far beyond the others a counter grew: so many deviations, or so many events more
# than chance gives around the usual number. Engineering defaults.
_DEVIATIONS = 6.0
_TO_SIGMA = 1.4826  # of the median absolute deviation of a normal distribution
UNTOLD = "not told"


class Day(Record):
    """A fleet on one day.

    states: by name, fit or why not. taken: by name, in seconds since 1970.
    with_variables: nodes that list their variables.
    """

    name: str
    nodes: tuple[str, ...]
    states: Mapping[str, str]
    taken: Mapping[str, float]
    shared: Mapping[str, Shared]
    counters: CounterStore
    with_variables: tuple[str, ...] = ()


class Changed(Record):
    """Nodes on which a leaf changed in the same way."""

    leaf: str
    before: str
    now: str
    hosts: tuple[str, ...]


class Flipped(Record):
    """Nodes whose verdict changed in the same way."""

    before: str
    now: str
    hosts: tuple[str, ...]


class Growth(Record):
    """A counter of a node that grew; began_anew: it was lower, as after a restart."""

    node: str
    by: float
    per_hour: float | None
    began_anew: bool


class Grown(Record):
    """A counter that grew beyond the others; usual: growth of most nodes."""

    leaf: str
    is_grave: bool
    usual: float
    of: int
    nodes: tuple[Growth, ...]


class Since(Record):
    """The comparison of two days.

    both: how many nodes are in both. hours: the shortest and the longest time between.
    lost: leaves that are not known any more. untold: leaves that the evidence of a day
    does not tell, with so many nodes.
    """

    before: str
    both: int
    came: tuple[str, ...]
    went: tuple[str, ...]
    hours: tuple[float, float] | None
    changed: tuple[Changed, ...]
    lost: tuple[Changed, ...]
    untold: tuple[tuple[str, int], ...]
    flipped: tuple[Flipped, ...]
    grown: tuple[Grown, ...]

    @property
    def is_backwards(self) -> bool:
        """Whether what was to be the older fleet is the newer one."""
        return self.hours is not None and self.hours[1] < 0


def since(before: Day, now: Day) -> Since:
    """Lay two days side by side, node by node, by their names."""
    both = set(before.nodes) & set(now.nodes)
    changed: dict[tuple[str, str, str], list[str]] = {}
    lost: dict[tuple[str, str, str], list[str]] = {}
    untold: list[tuple[str, int]] = []
    for leaf in dict.fromkeys(chain(before.shared, now.shared)):
        then, today = _values(before, leaf), _values(now, leaf)
        silent = 0
        for name in both:
            old, new = then.get(name), today.get(name)
            if old is None or new is None:
                silent += old is not new
            elif old != new and not old.startswith(_UNKNOWN):
                target = lost if new.startswith(_UNKNOWN) else changed
                target.setdefault((leaf, old, new), []).append(name)
        if silent:
            untold.append((leaf, silent))
    return Since(
        before=before.name,
        both=len(both),
        came=tuple(sorted(set(now.nodes) - both)),
        went=tuple(sorted(set(before.nodes) - both)),
        hours=_hours(before, now, both),
        changed=_changes(changed),
        lost=_changes(lost),
        untold=tuple(untold),
        flipped=_flipped(before, now, both),
        grown=tuple(_grown(before, now, both)),
    )


_UNKNOWN = "\0"


def _values(day: Day, leaf: str) -> dict[str, str]:
    """Return the value of a leaf by node; after a mark, why it is not known."""
    shared = day.shared.get(leaf)
    result: dict[str, str] = {}
    if shared is None and leaf.startswith(VARIABLES):
        return dict.fromkeys(day.with_variables, NOT_SET)
    if shared is not None:
        for group in shared.groups:
            result.update(dict.fromkeys(group.hosts, group.value))
        for group in shared.unseen:
            result.update(dict.fromkeys(group.hosts, _UNKNOWN + group.value))
    return result


def _changes(result: Mapping[tuple[str, str, str], list[str]]) -> tuple[Changed, ...]:
    """Return what few nodes have first."""
    changes = (
        Changed(leaf, old, new.removeprefix(_UNKNOWN), tuple(sorted(names)))
        for (leaf, old, new), names in result.items()
    )
    return tuple(
        sorted(
            changes,
            key=lambda change: (
                len(change.hosts),
                change.leaf,
                change.before,
                change.now,
            ),
        )
    )


def _hours(before: Day, now: Day, both: set[str]) -> tuple[float, float] | None:
    numbers = [
        (now.taken[name] - before.taken[name]) / _HOUR
        for name in both
        if name in now.taken and name in before.taken
    ]
    return (min(numbers), max(numbers)) if numbers else None


def _flipped(before: Day, now: Day, both: set[str]) -> tuple[Flipped, ...]:
    result: dict[tuple[str, str], list[str]] = {}
    for name in both:
        pair = before.states.get(name, UNTOLD), now.states.get(name, UNTOLD)
        if pair[0] != pair[1]:
            result.setdefault(pair, []).append(name)
    flips = (Flipped(*pair, tuple(sorted(names))) for pair, names in result.items())
    return tuple(
        sorted(flips, key=lambda flip: (len(flip.hosts), flip.now, flip.before))
    )


def _grown(before: Day, now: Day, both: set[str]) -> Iterator[Grown]:
    for leaf in now.counters.kept:
        if leaf == EVENTS:
            continue
        old, new = _of_counter(before, leaf), _of_counter(now, leaf)
        growths = [
            _growth(before, now, name, old[name], total)
            for name, total in new.items()
            if name in both and name in old
        ]
        grown = _beyond(leaf, growths)
        if grown is not None:
            yield grown


def _of_counter(day: Day, leaf: str) -> dict[str, float]:
    """Return a counter by the names of the nodes that state it."""
    result: dict[str, float] = {}
    if leaf.startswith(f"{EVENTS}."):  # of an event that is not in the log: none
        result = dict.fromkeys(_of_counter(day, EVENTS), 0.0)
    totals = day.counters.kept.get(leaf)
    if totals is not None:
        pairs = zip(totals.nodes, totals.sums, strict=True)
        result.update((day.nodes[number], total) for number, total in pairs)
    return result


def _growth(before: Day, now: Day, name: str, old: float, new: float) -> Growth:
    began_anew = new < old
    by = new if began_anew else new - old
    hours = None
    if name in now.taken and name in before.taken:
        hours = (now.taken[name] - before.taken[name]) / _HOUR
    per_hour = by / hours if hours is not None and hours > 0 else None
    return Growth(name, by, None if began_anew else per_hour, began_anew)


def _beyond(leaf: str, growths: Sequence[Growth]) -> Grown | None:
    """Return the nodes on which a counter grew beyond the others, the most first."""
    if not growths:
        return None
    usual = median(growth.by for growth in growths)
    grave = is_grave(leaf)
    limit = 0.0
    if not grave:
        spread = _TO_SIGMA * median(abs(growth.by - usual) for growth in growths)
        limit = usual + _DEVIATIONS * max(spread, max(usual, 1.0) ** 0.5)
    result = [growth for growth in growths if growth.by > limit]
    if not result:
        return None
    result.sort(key=lambda growth: (-growth.by, growth.node))
    return Grown(leaf, grave, usual, len(growths), tuple(result))


def day_of(name: str, run: FleetRun, verdict: FleetVerdict) -> Day:
    """Return a judged fleet as one day."""
    unfit = {unfit.name: unfit.state for unfit in verdict.unfit}
    nodes = tuple(node.name for node in run.nodes)
    return Day(
        name,
        nodes,
        {node: unfit.get(node, "fit") for node in nodes},
        {node.name: node.taken for node in run.nodes if node.taken is not None},
        run.fleet.shared,
        run.counters,
        run.with_variables,
    )
