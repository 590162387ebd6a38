"""A synthetic fleet as files: what is written for each node, and the truth about it."""

import json
from collections.abc import Callable, Iterator, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.fault import Delivery, earlier
from speccheck.validator.simulation.fleet import (
    Maker,
    SimulatedFleet,
    Snapshot,
    name_of,
)
from speccheck.validator.simulation.planting import Planting, planted_rows

SCHEMA = "speccheck-simulation/1"
MANIFEST = "simulation.json"
_COMPACT = (",", ":")
_BETWEEN_TWO = 90 / 3600  # hours
_DAMAGED, _KILLED = 0.6, 0.4  # shares of a file that are left
_PROCESS = 4242  # whose temporary file is left


def snapshot_text(node: Snapshot) -> str:
    """Return the snapshot as it stands in its file."""
    return json.dumps(node, separators=_COMPACT)


class FileForm(Record):
    """What is told of a node, and how the name of its file ends."""

    text: Callable[[Snapshot], str]
    ending: str


RESULTS = ".result.json"
SNAPSHOTS = FileForm(snapshot_text, ".json")


class Written(Record):
    """What is written for a node: a file of that name, or a line of a file."""

    file: str
    text: str


def nodes(
    fleet: SimulatedFleet, planting: Planting, form: FileForm = SNAPSHOTS
) -> Iterator[tuple[Written, ...]]:
    """Yield what is written for each node, in their order.

    Nothing for a missing one.
    """
    maker = Maker(fleet)
    by_node = planting.by_node()
    for index in range(fleet.nodes):
        node = maker.healthy(index)
        if planting.has_measurements:
            maker.measure(node, index)
        delivery: Delivery = ""
        for plant in by_node.get(index, ()):
            plant.fault.change(plant.values)(node)
            delivery = delivery or plant.fault.delivery
        yield _delivered(name_of(index), node, delivery, form)


def _delivered(
    name: str, node: Snapshot, delivery: Delivery, form: FileForm
) -> tuple[Written, ...]:
    if delivery == "missing":
        return ()
    file, text = f"{name}{form.ending}", form.text(node)
    if delivery == "damaged":
        return (Written(file, text[: int(len(text) * _DAMAGED)]),)
    if delivery == "empty":
        return (Written(file, ""),)
    if delivery == "killed":
        return (Written(f".{file}.{_PROCESS}.part", text[: int(len(text) * _KILLED)]),)
    if delivery == "twice":
        earlier(_BETWEEN_TWO)(node)
        first = Written(f"{name}-again{form.ending}", form.text(node))
        return first, Written(file, text)
    return (Written(file, text),)


def file_names(nodes: int, ill: Sequence[str]) -> Iterator[str]:
    """Yield the names of all files that a folder may have of so many nodes.

    ill: the names of the nodes that have a fault.
    """
    for ending in (SNAPSHOTS.ending, RESULTS):
        for index in range(nodes):
            yield f"{name_of(index)}{ending}"
        for name in ill:
            yield f"{name}-again{ending}"
            yield f".{name}{ending}.{_PROCESS}.part"


def manifest(fleet: SimulatedFleet, planting: Planting, *, is_complete: bool) -> str:
    """Return what the fleet is made of and what is wrong, as a file's text."""
    document = {
        "schema": SCHEMA,
        "synthetic": fleet.synthetic,
        "nodes": fleet.nodes,
        "node_list": fleet.node_list,
        "job": fleet.job,
        "taken": fleet.taken.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "is_complete": is_complete,
        "has_measurements": planting.has_measurements,
        "planted": planted_rows(planting),
    }
    return json.dumps(document, indent=1) + "\n"
