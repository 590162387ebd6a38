"""What is kept of some nodes of a fleet while their snapshots pass.

It grows by numbers, not by snapshots, can be handed from one process to another, and
two of them make one: that is how a fleet is judged by several cores.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from speccheck.validator.evidence.fleet import FleetNode, Unread
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.counters import CounterStore
from speccheck.validator.fleet.distributions import Distributions
from speccheck.validator.fleet.found import Found
from speccheck.validator.fleet.own_result import OwnResult
from speccheck.validator.fleet.samples import SampleStore
from speccheck.validator.fleet.shared_values import Profile, shared_profile

_DIGEST = " sha256:"  # behind the first characters of a long value (node_result.py)


class Told(Record):
    """What the engine of a node says of the run: its job, and who takes part."""

    engine: str = ""
    job: str = ""
    nodes: int | None = None
    node_list: str = ""


class Portion:
    """Some nodes.

    results: result lines, whose nodes may have a snapshot as well. told: what engines
    said of the run, with the number of nodes on which they did. runs: the content of
    measured collectives with the file that holds them. same: a specimen of a machine,
    such as a GPU, with the numbers of two nodes that both claim it.
    """

    def __init__(self, *, counts: bool = False) -> None:
        """Begin without a node; counts: keep counters, for a comparison of days."""
        self.counters = CounterStore() if counts else None
        self.nodes: list[FleetNode] = []
        self.unread: list[Unread] = []
        self.results: list[OwnResult] = []
        self.told: dict[Told, int] = {}
        self.runs: list[tuple[str, Mapping[str, Any]]] = []
        self.same: list[tuple[str, int, int]] = []
        self.distributions = Distributions()
        self.samples = SampleStore()
        self.found = Found()
        self.specimens: dict[str, int] = {}
        self.of_job: set[str] = set()

    def add(
        self,
        node: FleetNode,
        content: Mapping[str, Any],
        profile: Profile | None = None,
    ) -> int:
        """Take a node and the content of its snapshot; returns its number.

        profile: of the content, where it is known already.
        """
        number = len(self.nodes)
        self.nodes.append(node)
        self.distributions.add(number, profile or shared_profile(content))
        self.samples.add(number, content)
        if self.counters is not None:
            self.counters.add(number, content)
        self.add_launch(content.get("launch"))
        runs = content.get("collective_runs")
        if isinstance(runs, list) and runs:
            self.runs.append((node.file, {"collective_runs": runs}))
        for specimen in _specimens(content):
            self._add_specimen(specimen, number)
        return number

    def add_launch(self, launch: object) -> None:
        """Take what the engine of a node says of the run."""
        told = told_by(launch)
        if told is not None:
            self.told[told] = self.told.get(told, 0) + 1

    def add_own(self, own: OwnResult) -> int:
        """Take a node of which there is a result line alone; returns its number."""
        number = len(self.nodes)
        self.nodes.append(own.node)
        self.distributions.add_facts(number, _whole_facts(own))
        for finding in own.findings:
            self.found.note(finding, number)
        return number

    def take(self, other: "Portion") -> None:
        """Add the nodes of another portion behind these."""
        base = len(self.nodes)
        self.nodes += other.nodes
        self.unread += other.unread
        self.results += other.results
        for key, count in other.told.items():
            self.told[key] = self.told.get(key, 0) + count
        self.runs += other.runs
        self.distributions.take(other.distributions, base)
        self.samples.take(other.samples, base)
        if self.counters is not None and other.counters is not None:
            self.counters.take(other.counters, base)
        self.found.take(other.found, base)
        self.of_job |= other.of_job
        self.same += ((name, a + base, b + base) for name, a, b in other.same)
        for specimen, number in other.specimens.items():
            self._add_specimen(specimen, number + base)

    def _add_specimen(self, specimen: str, number: int) -> None:
        first = self.specimens.setdefault(specimen, number)
        if first != number:
            self.same.append((specimen, first, number))


def _whole_facts(own: OwnResult) -> dict[str, str]:
    """The facts of a line without those that are too long for it.

    Of these it tells the digest, which is another text than the value that snapshots
    hold: they are not known, and not another value.
    """
    return {leaf: text for leaf, text in own.facts if _DIGEST not in text}


def told_by(launch: object) -> Told | None:
    """What a snapshot or a result line says of the run, where it says anything."""
    if not isinstance(launch, dict):
        return None
    nodes = launch.get("nodes")
    engine, job, names = (
        one if isinstance(one, str) else ""
        for one in (launch.get(name) for name in ("engine", "job", "node_list"))
    )
    is_number = isinstance(nodes, int) and not isinstance(nodes, bool) and nodes > 0
    told = Told(engine, job, nodes if is_number else None, names)
    return None if told == Told() else told


def _specimens(content: Mapping[str, Any]) -> Iterator[str]:
    """What no other machine has: the identity of its GPUs."""
    gpus = content.get("gpus")
    if isinstance(gpus, list):
        for one in gpus:
            uuid = one.get("uuid") if isinstance(one, dict) else None
            if isinstance(uuid, str):
                yield uuid
