"""Two snapshots leaf by leaf: two machines, or one machine on two days."""

from collections.abc import Iterator

from speccheck.validator.comparison.difference import (
    Change,
    Comparison,
    Difference,
    NotCompared,
)
from speccheck.validator.comparison.machine import (
    Machine,
    is_comparable,
    machine_of,
)
from speccheck.validator.comparison.parts import Leaves, keys_of, paired
from speccheck.validator.comparison.side import (
    NoValue,
    Side,
    leaf_of,
    missing,
    no_value,
)
from speccheck.validator.comparison.values import Pair, are_same, counted, measured
from speccheck.validator.evidence.node.changes import COUNTERS, Group, group_of
from speccheck.validator.evidence.node.node import KINDS, MEASURED, SPECIMENS

_SINGLES = frozenset(kind for kind, part in KINDS.items() if part.is_single)
_HOUR = 3600.0
# Between two looks at a clock and an uptime: less is no restart.
_UPTIME_SLACK_SECONDS = 120.0
_MOST_SECONDS = 1e12
_OTHER_SALT = "digests of another salt, or of one only: neither equal nor different"
# What stands for a part that only one of the two has; else its title.
_VALUES_OF_PARTS = {"variables": "value", "kernel_events": "count"}


def compare(a: Side, b: Side, *, is_one_machine: bool = False) -> Comparison:
    """Lay two snapshots side by side.

    is_one_machine: the user says that both are of one, whatever they tell.
    """
    machine = machine_of(a, b, is_told=is_one_machine)
    hours = None
    if a.taken is not None and b.taken is not None:
        hours = (b.taken - a.taken) / _HOUR
    run = _Run(a, b, machine, hours)
    differences = [one for kind in KINDS for one in run.of_kind(kind)]
    not_compared = (
        NotCompared(leaf, reason, parts)
        for (leaf, reason), parts in run.not_compared.items()
    )
    return Comparison(
        a,
        b,
        machine,
        hours,
        run.was_restarted,
        tuple(differences),
        tuple(not_compared),
        run.compared,
    )


class _Run:
    """What is known of the two, and what is counted while they are compared."""

    def __init__(self, a: Side, b: Side, machine: Machine, hours: float | None) -> None:
        self.a, self.b, self.machine, self.hours = a, b, machine, hours
        self.was_restarted = _was_restarted(a, b, machine, hours)
        self.compared = 0
        self.not_compared: dict[tuple[str, str], int] = {}

    def of_kind(self, kind: str) -> Iterator[Difference]:
        mine, other = (side.content.get(kind) for side in (self.a, self.b))
        if kind in _SINGLES:
            found = [one if isinstance(one, dict) else None for one in (mine, other)]
            if found[0] is None and found[1] is None:
                return
            if found[0] is None or found[1] is None:
                yield self._one_sided(kind, *found)
                return
            yield from self._of_parts(kind, "", found[0], found[1])
            return
        lists = _listed(mine), _listed(other)
        if lists[0] is None and lists[1] is None:
            return
        if lists[0] is None or lists[1] is None:
            yield self._one_sided(kind, mine, other)
            return
        for pair in paired(kind, lists[0], lists[1]):
            if pair.a is None or pair.b is None:
                yield from self._alone(kind, pair.title, pair.a, pair.b)
            else:
                yield from self._of_parts(kind, pair.title, pair.a, pair.b)

    def _one_sided(self, kind: str, mine: object, other: object) -> Difference:
        """A kind that one of the two does not know."""
        group: Group = "measurements" if kind in MEASURED else "identity"
        a = self._told(self.a.content, kind, mine)
        b = self._told(self.b.content, kind, other)
        return Difference(group, kind, "", "not_known", a, b)

    def _told(self, content: Leaves, kind: str, found: object) -> object:
        if isinstance(found, list):
            return len(found)
        if found is None:
            return missing(content, kind)
        if isinstance(found, dict) and kind not in _SINGLES:
            return no_value(found)
        return "known"

    def _alone(
        self, kind: str, title: str, a: Leaves | None, b: Leaves | None
    ) -> Iterator[Difference]:
        """A part that one of the two has."""
        side = self.a if a is None else self.b
        leaves: Leaves = (b if a is None else a) or {}
        value = leaves.get(_VALUES_OF_PARTS.get(kind, ""), title)
        value = no_value(value) if isinstance(value, dict) else value
        nothing, note = NoValue("absent", is_known=True), ""
        change: Change = "came" if a is None else "went"
        partly = side.content.get("partly_listed")
        if isinstance(partly, list) and kind in partly:
            change, nothing = "not_known", NoValue("the list may lack some")
        elif kind == "variables":
            change, nothing = "changed", NoValue("not set", is_known=True)
        elif kind == "kernel_events" and a is not None:
            note = "the log does not hold it any more"
        pair = Pair(nothing, value) if a is None else Pair(value, nothing)
        leaf, group = _called(kind, leaves), _group_of_part(kind)
        yield Difference(group, leaf, title, change, pair.a, pair.b, note=note)

    def _of_parts(
        self, kind: str, title: str, a: Leaves, b: Leaves
    ) -> Iterator[Difference]:
        known = KINDS[kind].__annotations__
        names = [one for one in known if one in a or one in b]
        for name in names:
            if name in keys_of(kind):
                continue
            leaf = f"{kind}.{name}"
            pair = Pair(
                leaf_of(self.a.content, kind, a, name),
                leaf_of(self.b.content, kind, b, name),
            )
            found = self._of_leaf(leaf, title, pair)
            if found is not None:
                is_called = kind in {"variables", "kernel_events"}
                called = _called(kind, a)
                yield found._replace(leaf=called) if is_called else found

    def _of_leaf(self, leaf: str, title: str, pair: Pair) -> Difference | None:
        a, b = pair
        unknown = [isinstance(o, NoValue) and not o.is_known for o in pair]
        if all(unknown):
            return None
        if any(unknown):
            return Difference(group_of(leaf), leaf, title, "not_known", a, b)
        if leaf in SPECIMENS and isinstance(a, str) and isinstance(b, str) and a != b:
            return self._of_specimen(leaf, title, a, b)
        self.compared += 1
        return None if are_same(a, b) else self._of_values(leaf, title, pair)

    def _of_values(self, leaf: str, title: str, pair: Pair) -> Difference:
        group = group_of(leaf)
        if group == "measurements":
            return measured(leaf, title, pair)
        counter = COUNTERS.get(leaf)
        if counter is not None and self.machine.answer == "one":
            is_new = self.was_restarted
            found = counted(pair, counter, self.hours, was_restarted=is_new)
            if found is not None:
                return Difference(
                    group,
                    leaf,
                    title,
                    found.change,
                    *pair,
                    by=found.by,
                    per_hour=found.per_hour,
                    note=found.note,
                )
        if counter is not None and self.machine.answer == "two":
            # What one machine has been through says nothing of another one.
            group = group if counter.is_grave else "varying"
        return Difference(group, leaf, title, "changed", *pair)

    def _of_specimen(self, leaf: str, title: str, a: str, b: str) -> Difference | None:
        if self.machine.answer == "two":
            return Difference("varying", leaf, title, "changed", a, b)
        if not is_comparable(a, b, has_one_salt=self.machine.has_one_salt):
            key = leaf, _OTHER_SALT
            self.not_compared[key] = self.not_compared.get(key, 0) + 1
            return None
        self.compared += 1
        if self.machine.answer == "one":
            note = "another specimen"
            return Difference(group_of(leaf), leaf, title, "changed", a, b, note=note)
        return Difference("varying", leaf, title, "changed", a, b)


def _called(kind: str, leaves: Leaves) -> str:
    """How a part is called among leaves: a variable and an event by their names."""
    name = {"variables": "name", "kernel_events": "event"}.get(kind)
    found = leaves.get(name) if name else None
    return f"{kind}.{found}" if isinstance(found, str) else kind


def _group_of_part(kind: str) -> Group:
    if kind in MEASURED:
        return "measurements"
    special: dict[str, Group] = {
        "variables": "identity",
        "kernel_events": "health",
        "job_paths": "settings",
    }
    return special.get(kind, "topology")


def _listed(found: object) -> list[Leaves] | None:
    """The parts; none where it is certain that there are none."""
    if isinstance(found, list):
        return [one for one in found if isinstance(one, dict)]
    if isinstance(found, dict) and no_value(found).is_known:
        return []
    return None


def _was_restarted(
    a: Side, b: Side, machine: Machine, hours: float | None
) -> bool | None:
    """Whether the machine is up for less than it was and has been since."""
    if machine.answer != "one" or hours is None or hours < 0:
        return None
    mine, other = (_uptime(side) for side in (a, b))
    if mine is None or other is None:
        return None
    return other + _UPTIME_SLACK_SECONDS < mine + hours * _HOUR


def _uptime(side: Side) -> float | None:
    host = side.content.get("host")
    found = host.get("uptime_seconds") if isinstance(host, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if 0 <= found < _MOST_SECONDS else None
