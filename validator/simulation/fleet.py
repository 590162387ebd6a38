"""The nodes of a synthetic fleet, one after the other."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.simulation.measurements import measure
from speccheck.validator.simulation.rng import Chance, Dice
from speccheck.validator.simulation.shape import Shape, shape_of
from speccheck.validator.simulation.variety import vary

Snapshot = dict[str, Any]
BY = "speccheck simulate"
NOTE = "made up: no such machine was looked at"
# When nothing else is said; a fixed day, so that two runs make the same bytes.
_TAKEN = datetime.fromisoformat("2026-11-21T18:00:00+00:00")
_WITHIN_SECONDS = 60


class SimulatedFleet(Record):
    """What a synthetic fleet follows from.

    profile: an instance type of the catalogue.
    job: what the nodes are to run.
    day: the same machines, later; from 1.
    """

    nodes: int
    profile: str
    seed: int
    job: str = ""
    day: int = 1

    @property
    def taken(self) -> datetime:
        """When the first snapshot was taken."""
        return _TAKEN + timedelta(days=self.day - 1)

    @property
    def synthetic(self) -> dict[str, object]:
        """What each file says of itself."""
        made = {"by": BY, "version": VERSION, "seed": self.seed}
        return {**made, "profile": self.profile, "day": self.day, "note": NOTE}

    @property
    def node_list(self) -> str:
        """All of its nodes, as launchers write them."""
        if self.nodes == 1:
            return name_of(0)
        return f"node[0001-{self.nodes:04d}]"


def name_of(index: int) -> str:
    """Return the name of that node, from 0; it is the same in fleets of any size."""
    return f"node{index + 1:04d}"


class Maker:
    """Makes the nodes of a fleet; what they share is worked out once."""

    __slots__ = ("_fleet", "_shape", "_template")

    def __init__(self, fleet: SimulatedFleet) -> None:
        """Take a fleet; raises KeyError for a profile that the catalogue has not."""
        self._fleet = fleet
        self._shape: Shape = shape_of(fleet.profile)
        # Read anew for each node: a deep copy takes ten times as long.
        self._template = json.dumps(healthy_node(fleet.profile))

    def healthy(self, index: int) -> Snapshot:
        """Return the node of that number, from 0, with nothing wrong.

        All but `launch` is the same in a fleet of any size.
        """
        fleet = self._fleet
        node: Snapshot = json.loads(self._template)
        chance = self._chance(index)
        vary(node, self._shape, chance, index, self._rack(index))
        dice = chance.today
        name = name_of(index)
        node["host"]["name"] = name
        when = fleet.taken + timedelta(seconds=dice.whole(0, _WITHIN_SECONDS))
        node |= {
            "tool": {"name": "speccheck", "version": VERSION},
            "taken": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "seconds": round(dice.between(0.4, 1.6), 3),
            "launch": self._launch(index, name),
            "synthetic": fleet.synthetic,
        }
        return node

    def measure(self, node: Snapshot, index: int) -> None:
        """Add what the node of that number reaches under load."""
        measure(node, self._shape, self._chance(index, "measured"))

    def _chance(self, *words: int | str) -> Chance:
        fleet = self._fleet
        seed = (fleet.seed, fleet.profile, *words)
        return Chance(Dice(*seed), Dice(*seed, "day", fleet.day), fleet.day - 1)

    def _rack(self, index: int) -> str:
        """Return the digest of the NVLink domain, where it is wider than a node."""
        nodes = self._shape.instance["nvlink_domain_size"] // self._shape.gpus
        if nodes <= 1:
            return ""
        fleet = self._fleet
        return Dice(fleet.seed, fleet.profile, "rack", index // nodes).digest()

    def _launch(self, index: int, name: str) -> dict[str, object]:
        fleet = self._fleet
        return {
            "engine": "slurm",
            "node": name,
            "job": fleet.job,
            "attempt": 0,
            "rank": index,
            "ranks": fleet.nodes,
            "nodes": fleet.nodes,
            "node_list": fleet.node_list,
        }


def healthy_nodes(fleet: SimulatedFleet) -> Iterator[Snapshot]:
    """Yield all nodes of a fleet, with nothing wrong."""
    maker = Maker(fleet)
    return map(maker.healthy, range(fleet.nodes))
