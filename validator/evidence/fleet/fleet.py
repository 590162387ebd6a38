"""A fleet: what the snapshots of many nodes say when they are laid side by side.

Rules that ask for it judge all nodes at once; what a single node does wrong by itself
is for the rules of nodes. Nothing here holds a snapshot.
"""

from array import array
from collections.abc import Mapping
from types import MappingProxyType

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence, Value


class FleetNode(Record):
    """One node that reported.

    name: by which the engine knows it. file: of its snapshot or result line.
    taken: when its evidence was gathered, in seconds since 1970; None if unknown.
    verdict: of its own evidence: go, no-go, inconclusive, bug, or usage of its own
    pre-flight. is_whole: whether a snapshot was read, and not a result line alone.
    is_synthetic: made by `speccheck simulate`. release: of the speccheck that took it.
    """

    name: str
    file: str
    taken: float | None = None
    verdict: str = "go"
    is_whole: bool = True
    is_synthetic: bool = False
    release: str = ""


class Unread(Record):
    """Evidence that could not be read: of which file or line, and why.

    node: whose it would be, as far as its name tells.
    """

    file: str
    problem: str
    node: str = ""


class Repeated(Record):
    """A node, or one specimen of a machine, that reported more than once."""

    name: str
    files: tuple[str, ...]
    problem: str


class Attendance(Record):
    """Who was expected, and who came.

    expected: how many nodes; unknown where nobody says. names: of those, where they
    are known. missing: of them, that did not report. unexpected: that nobody expects.
    """

    expected: Value[int]
    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    repeated: tuple[Repeated, ...] = ()


class Group(Record):
    """Nodes that have the same value."""

    value: str
    hosts: tuple[str, ...]


class Shared(Record):
    """One leaf over all nodes: groups of equal values, the largest first.

    unseen: reason and nodes on which it is not known.
    """

    leaf: str
    groups: tuple[Group, ...]
    unseen: tuple[Group, ...] = ()

    @property
    def usual(self) -> Group | None:
        """The value that more than half of the nodes have, of those that tell it."""
        told = sum(len(one.hosts) for one in self.groups)
        first = self.groups[:1]
        return first[0] if first and 2 * len(first[0].hosts) > told else None


class Samples(Record):
    """One number over all nodes, or over all parts of all nodes.

    Of the same length: the position of each node among those that reported, the number
    of the part on it, and the value. unseen: nodes that do not tell it.
    """

    leaf: str
    nodes: "array[int]"
    parts: "array[int]"
    values: "array[float]"
    unseen: tuple[str, ...] = ()


class Fleet:
    """All nodes that reported, in the order in which they were read."""

    __slots__ = ("attendance", "nodes", "runs", "samples", "shared", "started")
    is_single = True
    kind = "fleet"
    scope = "fleet"

    def __init__(
        self,
        nodes: tuple[FleetNode, ...],
        attendance: Attendance,
        *,
        shared: Mapping[str, Shared] = MappingProxyType({}),
        samples: Mapping[str, Samples] = MappingProxyType({}),
        runs: tuple[CollectiveRun, ...] = (),
        started: float | None = None,
    ) -> None:
        """Take what the survey found.

        Args:
            nodes: that reported.
            attendance: who should have, and what could not be read.
            shared: by name of the leaf (leaves.py), of those that some node tells.
            samples: by name of the leaf or rate.
            runs: of collectives, that nodes of the fleet measured.
            started: when this is judged, in seconds since 1970.

        """
        self.nodes = nodes
        self.attendance = attendance
        self.shared = shared
        self.samples = samples
        self.runs = runs
        self.started = started

    def leaf(self, name: str) -> Shared:
        """One leaf over all nodes; raises MissingEvidence where no node tells it."""
        found = self.shared.get(name)
        if found is None or not found.groups:
            reason = "no node tells it"
            if found is not None and found.unseen:
                reason = found.unseen[0].value
            raise MissingEvidence(name, reason)
        return found

    def variables(self) -> tuple[Shared, ...]:
        """Each environment variable that some node sets, over all nodes."""
        from speccheck.validator.evidence.fleet.leaves import (  # noqa: PLC0415
            VARIABLES,
        )

        return tuple(
            one for name, one in self.shared.items() if name.startswith(VARIABLES)
        )
