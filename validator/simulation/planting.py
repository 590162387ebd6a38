"""Which nodes get which fault: named ones first, then those that are drawn."""

import re
from collections.abc import Mapping, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.node.host_names import HostNamesError, unfold
from speccheck.validator.simulation.dice import Dice
from speccheck.validator.simulation.fault import Fault, Values
from speccheck.validator.simulation.faults import FAULTS
from speccheck.validator.simulation.fleet import Fleet, name_of
from speccheck.validator.simulation.plan import PlanFile, Planted
from speccheck.validator.simulation.shape import shape_of

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_NAME = re.compile(r"node(\d{4,9})")
# What a machine that has no such part makes of a change.
_NOT_HERE = (LookupError, ValueError, TypeError, AttributeError, StopIteration)


class Plant(Record):
    """A fault with its values, on these nodes (numbers from 0)."""

    name: str
    fault: Fault
    values: Values
    nodes: tuple[int, ...]


class Planting(Record):
    """All that is planted in a fleet."""

    plants: tuple[Plant, ...] = ()
    has_measurements: bool = False

    def by_node(self) -> Mapping[int, Sequence[Plant]]:
        """The faults of each node that has some."""
        found: dict[int, list[Plant]] = {}
        for plant in self.plants:
            for node in plant.nodes:
                found.setdefault(node, []).append(plant)
        return found


def plant(file: PlanFile, fleet: Fleet) -> Planting:
    """Choose the nodes of each fault of a plan; raises PlanError."""
    taken: set[int] = set()
    chosen: dict[int, tuple[int, ...]] = {}
    entries = file.plan.faults
    for index, one in enumerate(entries):
        if one.nodes is not None:
            chosen[index] = _named(file, one, fleet, index)
            taken.update(chosen[index])
    for index, one in enumerate(entries):
        if one.nodes is None:
            chosen[index] = _drawn(file, one, fleet, index, taken)
            taken.update(chosen[index])
    plants = tuple(
        Plant(
            one.fault,
            FAULTS[one.fault],
            _values(file, one, fleet, index),
            chosen[index],
        )
        for index, one in enumerate(entries)
    )
    return Planting(plants, file.plan.measurements)


def _named(file: PlanFile, one: Planted, fleet: Fleet, index: int) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for position, text in enumerate(one.nodes or ()):
        at = ("faults", index, "nodes", position)
        for number in _numbers(file, text, at):
            if not 1 <= number <= fleet.nodes:
                message = f"node {number}: the fleet has nodes 1 to {fleet.nodes:,}"
                raise file.fault(at, message)
            found[number - 1] = None
    return (*sorted(found),)


def _numbers(
    file: PlanFile, text: int | str, at: tuple[str | int, ...]
) -> Sequence[int]:
    match = _RANGE.fullmatch(str(text).strip())
    if match:
        first = int(match[1])
        last = int(match[2] or first)
        if last < first:
            raise file.fault(at, f"the range {text} runs backwards")
        return range(first, last + 1)
    try:
        names = unfold(str(text))
    except HostNamesError as error:
        raise file.fault(at, str(error)) from error
    matches = [_NAME.fullmatch(name) for name in names]
    if not all(matches):
        message = f"{text}: nodes are called node0001, ...; or write 17, or 40-45"
        raise file.fault(at, message)
    return [int(one[1]) for one in matches if one]


def _drawn(
    file: PlanFile, one: Planted, fleet: Fleet, index: int, taken: set[int]
) -> tuple[int, ...]:
    """So many of the nodes that have no fault yet."""
    wanted = one.count or max(1, round((one.share or 0) * fleet.nodes))
    if wanted > fleet.nodes - len(taken):
        left = f"{fleet.nodes - len(taken):,} of {fleet.nodes:,} nodes have no fault"
        message = f"{one.fault} wants {wanted:,} nodes, and {left} yet"
        raise file.fault(("faults", index), message)
    dice = Dice(fleet.seed, "plan", index, one.fault)
    found: set[int] = set()
    if wanted * 2 > fleet.nodes - len(taken):
        free = [node for node in range(fleet.nodes) if node not in taken]
        while len(found) < wanted:
            found.add(free.pop(dice.whole(0, len(free) - 1)))
    while len(found) < wanted:
        node = dice.whole(0, fleet.nodes - 1)
        if node not in taken:
            found.add(node)
    return (*sorted(found),)


def _values(file: PlanFile, one: Planted, fleet: Fleet, index: int) -> Values:
    """Its values, once a machine of the type has shown that it can have the fault."""
    fault = FAULTS[one.fault]
    values = {**fault.values, **one.values()}
    at = ("faults", index)
    shape = shape_of(fleet.profile)
    # The usual one may be beyond those that the type has.
    for name, told, count in (
        ("gpu", one.gpu, shape.gpus),
        ("link", one.link, shape.gpu.get("nvlinks", 0)),
        ("port", one.port, shape.instance.get("network_adapters", 0)),
    ):
        if told is None and name in values and count:
            values[name] = int(str(values[name])) % count
    if fault.is_measured and not file.plan.measurements:
        message = f"{one.fault} shows in measurements: write measurements: true"
        raise file.fault(at, message)
    well, changed = fault.well(fleet.profile), fault.well(fleet.profile)
    try:
        fault.change(values)(changed)
        is_changed = well != changed or bool(fault.delivery)
        is_changed &= not _fills_gaps(well, changed)
    except _NOT_HERE:
        is_changed = False
    if not is_changed:
        other = f"; {fault.instance} can" if fault.instance != fleet.profile else ""
        message = f"{fleet.profile} cannot have {one.fault} so{other}"
        raise file.fault(at, message)
    return values


def _fills_gaps(well: object, changed: object) -> bool:
    """Whether something is known now that such a machine has not."""
    if isinstance(well, dict):
        if not isinstance(changed, dict):
            return "status" in well
        known = well.keys() & changed.keys()
        return any(_fills_gaps(well[key], changed[key]) for key in known)
    if isinstance(well, list) and isinstance(changed, list):
        return any(map(_fills_gaps, well, changed))
    return False


def told(planting: Planting) -> list[dict[str, object]]:
    """What is planted where, for the manifest: the truth that a judgement must find."""
    return [
        {
            "fault": one.name,
            "text": one.fault.text,
            "values": dict(one.values),
            "rules": list(one.fault.rules),
            "rules_of": one.fault.instance,
            "is_fleet": one.fault.is_fleet,
            "delivery": one.fault.delivery,
            "nodes": [name_of(node) for node in one.nodes],
        }
        for one in planting.plants
    ]
