"""What a file of a kit is: its kind, time, machine, and the evidence that it gives."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from speccheck.validator.certification.evidence_file import EvidenceFile, Kind
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.telemetry import (
    Metrics,
    RunEvent,
    RunEvents,
    RunLogs,
)
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.node import MEASURED, Node
from speccheck.validator.sources.files import ReadFile

# Kinds of parts of a machine, and the words of the edition for such evidence.
_OF_NODES = {
    "gpus": ("node.gpus", "node.nvlink", "node.health"),
    "pci_devices": ("node.pcie",),
    "rdma_devices": ("node.fabric",),
    "rdma_ports": ("node.fabric",),
    "network_interfaces": ("node.fabric",),
    "host": ("node.system",),
    "driver": ("node.driver",),
    "kernel_log": ("node.health",),
    "kernel_events": ("node.health",),
    "variables": ("node.nccl_env",),
}
_OF_RUNS = frozenset({"run_logs", "metrics", "run_events"})
_LOGGED = frozenset({"communicators", "variables_in_force"})
_ALL_REDUCE = "all_reduce"
# What is no JSON says it in a comment: `# synthetic: by speccheck simulate, seed 1`.
_COMMENT = r"(?m)^[ \t]*(?:#|//|;)[ \t]*(?:speccheck )?"
_MADE_UP = re.compile(_COMMENT + r"synthetic:[ \t]*(?:by )?([^,;:\n]{1,100})")
_TAKEN = re.compile(_COMMENT + r"taken:[ \t]*(\S{1,40})")
# Of lines of JSON each may say it; `"synthetic": false` says that it is not.
_IN_JSON = re.compile(
    r'"synthetic"\s*:(?!\s*(?:false|null)\b)\s*(?:\{\s*"by"\s*:\s*"([^"]*))?'
)
_UNNAMED = "unnamed"
_HEAD = 4_000  # characters in which a comment of the whole file stands


def text_entry(bare: EvidenceFile, text: str) -> EvidenceFile:
    """A file that no reader knows, with what its text says of itself."""
    return bare._replace(taken=_told_time(text), synthetic=_made_up(text))


def entry_of(bare: EvidenceFile, found: Sequence[ReadFile], text: str) -> EvidenceFile:
    """A file that readers know."""
    nodes = [
        reading.node
        for one in found
        for reading in one.readings
        if reading.node is not None
    ]
    made_up = next((one.synthetic for one in nodes if one.synthetic), "")
    return bare._replace(
        kind=_kind(found, nodes),
        format="+".join(dict.fromkeys(one.format for one in found)),
        taken=_taken(nodes) or _told_time(text),
        specimen=_specimen(nodes),
        synthetic=made_up or _made_up(text),
        gives=tuple(sorted({*_gives(found, nodes)})),
        nodes=max((0, *_widths(nodes))),
        instance_type=_instance_type(nodes),
    )


def _kind(found: Sequence[ReadFile], nodes: Sequence[Node]) -> Kind:
    roles = {one.role for one in found}
    measured = {kind for one in nodes for kind in one.measured}
    if "node" in roles:
        return "snapshot"
    if "measurement" not in roles:
        return "config"
    if any(event.drill.is_known for event in _events(nodes)):
        return "drill"
    is_log = bool(measured) and measured <= _OF_RUNS | _LOGGED
    return "log" if is_log else "measurement"


def _events(nodes: Iterable[Node]) -> Iterator[RunEvent]:
    for one in nodes:
        yield from one.several(RunEvents).shown


def _taken(nodes: Sequence[Node]) -> str:
    """When the last of it was seen; a log without a zone does not tell."""
    told = [time for one in nodes if (time := utc(one.taken))]
    for one in nodes:
        for log in one.several(RunLogs).shown:
            last = log.last_seconds.value
            if log.clock.value == "utc" and last is not None:
                told.append(_from_seconds(last))
    return max(told, default="")


def _from_seconds(seconds: float) -> str:
    try:
        return _text(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def utc(text: str) -> str:
    """A time with a zone as UTC, to the second; empty for what is none."""
    try:
        found = datetime.fromisoformat(text)
        return _text(found.astimezone(UTC)) if found.tzinfo else ""
    except (ValueError, OverflowError):
        return ""


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _told_time(text: str) -> str:
    found = _TAKEN.search(text[:_HEAD])
    return utc(found[1]) if found else ""


def _made_up(text: str) -> str:
    """What made a text up, as far as it says so; empty where it does not."""
    comment = _MADE_UP.search(text)
    if comment:
        return comment[1].strip() or _UNNAMED
    found = _IN_JSON.search(text) if text.lstrip()[:1] in {"{", "["} else None
    return (found[1] or _UNNAMED)[:100] if found else ""


def _specimen(nodes: Sequence[Node]) -> str:
    """The one machine that all of it is of; empty where it is of several or of none."""
    names: set[str] = set()
    for one in nodes:
        name = one.launch.node or one.single(Host).name.value
        if name:
            names.add(name)
        for run in one.several(CollectiveRuns).shown:
            names.update(filter(None, run.hosts.value or ()))
            if (run.nodes.value or 1) > 1:
                names.update(("", "of several"))
    return names.pop() if len(names) == 1 else ""


def _instance_type(nodes: Sequence[Node]) -> str:
    told = {one.single(Host).instance_type.value for one in nodes} - {None, ""}
    return str(told.pop()) if len(told) == 1 else ""


def _widths(nodes: Sequence[Node]) -> Iterator[int]:
    for one in nodes:
        for run in one.several(CollectiveRuns).shown:
            yield run.nodes.value or len(run.hosts.value or ())


def _gives(found: Sequence[ReadFile], nodes: Sequence[Node]) -> Iterator[str]:
    for file in found:
        if file.role not in {"node", "measurement"}:
            yield "plan.source"
            for reading in file.readings:
                yield from (
                    f"plan.{fact.name.partition('.')[0]}"
                    for fact in reading.facts.facts
                )
                if reading.variables:
                    yield "plan.communication"
    for node in nodes:
        for kind, words in _OF_NODES.items():
            if isinstance(node.data.get(kind), list | dict):
                yield from words
        yield from _measured(node)


def _measured(node: Node) -> Iterator[str]:
    for kind in node.measured:
        found = node.data[kind]
        if kind == "collective_runs":
            collectives = {
                run.collective.value for run in node.several(CollectiveRuns).shown
            }
            if _ALL_REDUCE in collectives:
                yield "bench.allreduce"
            if collectives - {_ALL_REDUCE}:
                yield "bench.collectives"
        elif kind == "run_logs":
            if node.several(Metrics).shown:
                yield "log.metrics"
            if node.several(RunEvents).shown:
                yield "log.events"
        elif found:
            yield from MEASURED[kind]
