"""A synthetic fleet as files: what is written for each node, and the truth about it."""

import json
from collections.abc import Iterator

from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.changes import earlier
from speccheck.validator.simulation.fault import Delivery
from speccheck.validator.simulation.fleet import Fleet, Maker, Snapshot, name_of
from speccheck.validator.simulation.planting import Planting, told

SCHEMA = "speccheck-simulation/1"
_COMPACT = (",", ":")
_BETWEEN_TWO = 90 / 3600  # hours
_DAMAGED, _KILLED = 0.6, 0.4  # shares of a file that are left


class Written(Record):
    """What is written for a node: a file of that name, or a line of a file."""

    file: str
    text: str


def nodes(fleet: Fleet, planting: Planting) -> Iterator[tuple[Written, ...]]:
    """What is written for each node, in their order; nothing for a missing one."""
    maker = Maker(fleet)
    by_node = planting.by_node()
    for index in range(fleet.nodes):
        node = maker.healthy(index)
        delivery: Delivery = ""
        for plant in by_node.get(index, ()):
            plant.fault.change(plant.values)(node)
            delivery = delivery or plant.fault.delivery
        yield _delivered(name_of(index), node, delivery)


def _delivered(name: str, node: Snapshot, delivery: Delivery) -> tuple[Written, ...]:
    text = json.dumps(node, separators=_COMPACT)
    file = f"{name}.json"
    if delivery == "missing":
        return ()
    if delivery == "damaged":
        return (Written(file, text[: int(len(text) * _DAMAGED)]),)
    if delivery == "empty":
        return (Written(file, ""),)
    if delivery == "killed":
        return (Written(f".{file}.part", text[: int(len(text) * _KILLED)]),)
    if delivery == "twice":
        earlier(_BETWEEN_TWO)(node)
        first = json.dumps(node, separators=_COMPACT)
        return Written(f"{name}-again.json", first), Written(file, text)
    return (Written(file, text),)


def file_names(fleet: Fleet, planting: Planting) -> Iterator[str]:
    """The names of all files of a fleet that is written as a folder."""
    others = {
        index: plant.fault.delivery
        for plant in planting.plants
        for index in plant.nodes
        if plant.fault.delivery
    }
    for index in range(fleet.nodes):
        name = name_of(index)
        delivery = others.get(index, "")
        if delivery == "killed":
            yield f".{name}.json.part"
        elif delivery != "missing":
            yield f"{name}.json"
        if delivery == "twice":
            yield f"{name}-again.json"


def manifest(fleet: Fleet, planting: Planting, *, is_complete: bool) -> str:
    """What the fleet is made of and what is wrong in it, as the text of a file."""
    document = {
        "schema": SCHEMA,
        "synthetic": fleet.synthetic,
        "nodes": fleet.nodes,
        "node_list": fleet.node_list,
        "job": fleet.job,
        "taken": fleet.taken.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "is_complete": is_complete,
        "has_measurements": planting.has_measurements,
        "planted": told(planting),
    }
    return json.dumps(document, indent=1) + "\n"
