"""What is kept of some nodes of a fleet while their snapshots pass.

It grows by numbers, not by snapshots, can be handed from one process to another, and
two of them make one: that is how a fleet is judged by several cores.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from speccheck.validator.evidence.fleet.fleet import FleetNode, Unread
from speccheck.validator.fleet.distributions import Distributions
from speccheck.validator.fleet.found import Found
from speccheck.validator.fleet.samples import SampleStore


class Portion:
    """Some nodes.

    told: what engines said of the run, each once. runs: the content of measured
    collectives with the file that holds them. same: a specimen of a machine, such as a
    GPU, with the numbers of two nodes that both claim it.
    """

    def __init__(self) -> None:
        """Begin without a node."""
        self.nodes: list[FleetNode] = []
        self.unread: list[Unread] = []
        self.told: dict[tuple[str, str], int] = {}
        self.runs: list[tuple[str, Mapping[str, Any]]] = []
        self.same: list[tuple[str, int, int]] = []
        self.distributions = Distributions()
        self.samples = SampleStore()
        self.found = Found()
        self.specimens: dict[str, int] = {}

    def add(self, node: FleetNode, content: Mapping[str, Any]) -> int:
        """Take a node and the content of its snapshot; returns its number."""
        number = len(self.nodes)
        self.nodes.append(node)
        self.distributions.add(number, content)
        self.samples.add(number, content)
        runs = content.get("collective_runs")
        if isinstance(runs, list) and runs:
            self.runs.append((node.file, {"collective_runs": runs}))
        for specimen in _specimens(content):
            self._add_specimen(specimen, number)
        return number

    def add_told(self, node: FleetNode, facts: Mapping[str, str]) -> int:
        """Take a node of which a result line tells some facts; returns its number."""
        number = len(self.nodes)
        self.nodes.append(node)
        self.distributions.add_facts(number, facts)
        return number

    def take(self, other: "Portion") -> None:
        """Add the nodes of another portion behind these."""
        base = len(self.nodes)
        self.nodes += other.nodes
        self.unread += other.unread
        for key, count in other.told.items():
            self.told[key] = self.told.get(key, 0) + count
        self.runs += other.runs
        self.distributions.take(other.distributions, base)
        self.samples.take(other.samples, base)
        self.found.take(other.found, base)
        self.same += ((name, a + base, b + base) for name, a, b in other.same)
        for specimen, number in other.specimens.items():
            self._add_specimen(specimen, number + base)

    def _add_specimen(self, specimen: str, number: int) -> None:
        first = self.specimens.setdefault(specimen, number)
        if first != number:
            self.same.append((specimen, first, number))


def _specimens(content: Mapping[str, Any]) -> Iterator[str]:
    """What no other machine has: the identity of its GPUs."""
    gpus = content.get("gpus")
    if isinstance(gpus, list):
        for one in gpus:
            uuid = one.get("uuid") if isinstance(one, dict) else None
            if isinstance(uuid, str):
                yield uuid
