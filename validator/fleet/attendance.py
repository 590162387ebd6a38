"""Who was expected to report, and who did."""

from collections.abc import Mapping, Sequence

from speccheck.validator.evidence.fleet import (
    Attendance,
    FleetNode,
    Repeated,
    Unread,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value
from speccheck.validator.fleet.shard import HostMessage, Portion
from speccheck.validator.models.units import numbered
from speccheck.validator.node.host_names import HostNamesError, natural, unfold

_NAME = "fleet.nodes"


class Expected(Record):
    """The nodes that should report.

    number: how many; None where only their names are known.
    names: which; empty where only their number is known.
    message: where the expectation comes from, or why there is none.
    """

    number: int | None = None
    names: tuple[str, ...] = ()
    message: str = ""


def attendance(
    portion: Portion, result: Expected, job_nodes: int | None = None
) -> Attendance:
    """Return who was expected, by the user or by the engine, and who came.

    Args:
        portion: all nodes that reported.
        result: what the user expects; wins over what engines said.
        job_nodes: how many the job takes, where nobody says how many there are.

    """
    expected = result if result.number is not None else _by_engines(portion.messages)
    if expected.number is None and job_nodes is not None:
        expected = Expected(job_nodes, (), "the job takes so many")
    came = {node.name for node in portion.nodes}
    names = {*expected.names}
    missing = tuple(sorted(names - came, key=natural))
    unexpected = tuple(sorted(came - names, key=natural)) if names else ()
    count = (
        Value(_NAME, None, "unknown", note=expected.message)
        if expected.number is None
        else Value(_NAME, expected.number, "stated", note=expected.message)
    )
    return Attendance(
        expected=count,
        names=expected.names,
        missing=missing,
        unexpected=unexpected,
        unread=tuple(sorted(portion.unread)),
        repeated=(*_twice(portion.nodes), *_same(portion)),
    )


def _by_engines(result: Mapping[HostMessage, int]) -> Expected:
    """Return what the engine says of the run, where it says the same on all nodes."""
    runs = {(item.engine, item.job): item for item in result}
    if not runs:
        return Expected(message="no engine says how many nodes there are")
    if len(runs) > 1:
        jobs = ", ".join(sorted(f"{engine} {job}" for engine, job in runs)[:3])
        return Expected(message=f"the nodes are of {len(runs)} runs: {jobs}")
    counts = {item.nodes for item in result if item.nodes is not None}
    lists = {item.node_list for item in result if item.node_list}
    engine = next(iter(result)).engine or "the engine"
    if len(lists) == 1:
        try:
            names = unfold(lists.pop())
        except HostNamesError:
            names = ()
        if names and counts <= {len(names)}:
            return Expected(len(names), names, f"{engine} says so")
    if len(counts) == 1:
        return Expected(counts.pop(), (), f"{engine} says so")
    return Expected(message=f"{engine} does not say the same on all nodes")


def _twice(nodes: Sequence[FleetNode]) -> list[Repeated]:
    files: dict[str, list[str]] = {}
    for node in nodes:
        files.setdefault(node.name, []).append(node.file)
    return [
        Repeated(name, tuple(sorted(file)), f"{len(file)} snapshots of one node")
        for name, file in files.items()
        if len(file) > 1
    ]


def _same(portion: Portion) -> list[Repeated]:
    """Return two nodes with the same GPU: one machine under two names, or a copy."""
    pairs: dict[tuple[int, int], int] = {}
    for _, first, second in portion.same:
        if portion.nodes[first].name != portion.nodes[second].name:
            pair = first, second
            pairs[pair] = pairs.get(pair, 0) + 1
    return [
        Repeated(
            f"{portion.nodes[first].name} and {portion.nodes[second].name}",
            (portion.nodes[first].file, portion.nodes[second].file),
            f"both show the same {numbered(count, 'GPU')}",
        )
        for (first, second), count in pairs.items()
    ]


def unread_nodes(unread: Sequence[Unread]) -> tuple[str, ...]:
    """Return the nodes whose evidence could not be read, as far as files show it."""
    return tuple(sorted({item.node for item in unread if item.node}, key=natural))
