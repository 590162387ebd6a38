"""What is kept of some nodes of a fleet while their snapshots pass.

It grows by numbers, not by snapshots, can be handed from one process to another, and
two of them make one: that is how a fleet is judged by several cores.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.fleet import SAMPLED, FleetNode, Samples, Unread
from speccheck.validator.evidence.node.changes import COUNTERS
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.own_profile import OwnResult
from speccheck.validator.fleet.shared_values import (
    Distributions,
    Profile,
    moved,
    shared_profile,
)

# Of one rule: findings that differ on each node are kept as so many, the others as the
# nodes that have them. A report shows a handful, and memory stays flat.
MOST_KEPT = 1000
_Key = tuple[str, str]  # rule, or clause without one; outcome


class NodeFindings(Record):
    """A finding with the numbers of its nodes."""

    finding: Finding
    nodes: "array[int]"


class KeptFindings:
    """Findings of nodes that neither pass nor do not apply."""

    def __init__(self) -> None:
        """Begin with none."""
        self.kept: dict[_Key, dict[Finding, array[int]]] = {}
        self.more: dict[_Key, array[int]] = {}

    def note(self, finding: Finding, number: int) -> None:
        """Keep a finding of a node."""
        key = finding.rule or finding.clause, finding.outcome
        kept = self.kept.get(key)
        if kept is None:
            kept = self.kept[key] = {}
        numbers = kept.get(finding)
        if numbers is None:
            if len(kept) >= MOST_KEPT:
                self.more.setdefault(key, array("I")).append(number)
                return
            numbers = kept[finding] = array("I")
        numbers.append(number)

    def take(self, other: "KeptFindings", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for key, findings in other.kept.items():
            kept = self.kept.setdefault(key, {})
            for finding, numbers in findings.items():
                if finding in kept or len(kept) < MOST_KEPT:
                    kept.setdefault(finding, array("I")).extend(moved(numbers, base))
                else:
                    self._add_more(key, moved(numbers, base))
        for key, numbers in other.more.items():
            self._add_more(key, moved(numbers, base))

    def _add_more(self, key: _Key, numbers: "array[int]") -> None:
        self.more.setdefault(key, array("I")).extend(numbers)

    def each(self) -> Iterator[NodeFindings]:
        """Yield each finding with its nodes."""
        for findings in self.kept.values():
            for finding, nodes in findings.items():
                yield NodeFindings(finding, nodes)


EVENTS = "kernel_events"
# An event that a faulty program leaves speaks of the program.
_OF_APPLICATION = "of_application"
_MOSTEVENTS = 64  # kinds of events of one node, by their names
_MOST_NAME = 60
_MOST_COUNT = 2**64  # beyond it is no counter, and no NaN either


def _by_kind() -> dict[str, tuple[tuple[str, str], ...]]:
    result: dict[str, list[tuple[str, str]]] = {}
    for leaf in COUNTERS:
        kind, _, field = leaf.partition(".")
        if kind != EVENTS:
            result.setdefault(kind, []).append((field, leaf))
    return {kind: tuple(fields) for kind, fields in result.items()}


_BY_KIND = _by_kind()


class ShardTotals(Record):
    """One counter over nodes: their numbers, and the sum on each."""

    nodes: "array[int]"
    sums: "array[float]"


class CounterStore:
    """The counters of all nodes, by leaf."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.kept: dict[str, ShardTotals] = {}

    def add(self, number: int, content: Mapping[str, Any]) -> None:
        """Take the counters of the snapshot of a node."""
        kept = self.kept
        for leaf, total in node_counters(content):
            totals = kept.get(leaf)
            if totals is None:
                totals = kept[leaf] = ShardTotals(array("I"), array("d"))
            totals.nodes.append(number)
            totals.sums.append(total)

    def take(self, other: "CounterStore", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for leaf, totals in other.kept.items():
            mine = self.kept.setdefault(leaf, ShardTotals(array("I"), array("d")))
            mine.nodes.extend(moved(totals.nodes, base))
            mine.sums.extend(totals.sums)


def node_counters(content: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield each counter that the node tells, with the sum over its parts.

    Of a list that lacks some parts, as far as it goes.
    """
    for kind, fields in _BY_KIND.items():
        result = content.get(kind)
        listed: list[Any] = result if isinstance(result, list) else [result]
        parts = [item for item in listed if isinstance(item, dict)]
        if not parts:
            continue
        for field, leaf in fields:
            values = [part[field] for part in parts if field in part]
            total = _sum(values)
            if total is not None:
                yield leaf, total
    yield from _events(content.get(EVENTS))


def _sum(values: list[Any]) -> float | None:
    """Return the sum of numbers, and of the numbers in lists.

    None where there is none.
    """
    total = 0.0
    is_known = False
    for value in values:
        for item in value if isinstance(value, list) else (value,):
            is_number = type(item) is int or type(item) is float
            if is_number and -_MOST_COUNT <= item <= _MOST_COUNT:
                total += item
                is_known = True
    return total if is_known else None


def _events(result: object) -> Iterator[tuple[str, float]]:
    """Yield how often each kind of event stands in the kernel's log, and their sum.

    A node that tells all of them tells that there was none of a kind.
    """
    if not isinstance(result, list):
        return
    counts: dict[str, float] = {}
    for item in result:
        if not isinstance(item, dict):
            continue
        event, count = item.get("event"), item.get("count")
        if not isinstance(event, str) or type(count) is not int:
            continue
        if not 0 <= count <= _MOST_COUNT:
            continue
        name = f"{EVENTS}.{event[:_MOST_NAME]}"
        if item.get("is_of_application") is True:
            name += f".{_OF_APPLICATION}"
        if name in counts or len(counts) < _MOSTEVENTS:
            counts[name] = counts.get(name, 0.0) + count
    yield EVENTS, sum(counts.values())
    yield from counts.items()


def is_grave(leaf: str) -> bool:
    """Return whether growth by one is a fault already."""
    if leaf.startswith(f"{EVENTS}."):
        return not leaf.endswith(_OF_APPLICATION)
    counter = COUNTERS.get(leaf)
    return counter is not None and counter.is_grave


Sample = tuple[str, int, float]  # leaf, number of the part, value
_HOST = tuple(sampled_leaf for sampled_leaf in SAMPLED if sampled_leaf.kind == "host")
_GPUS = tuple(sampled_leaf for sampled_leaf in SAMPLED if sampled_leaf.kind == "gpus")
_MOST = 1e300  # beyond it, and where a file says NaN, is no measurement


class SampleStore:
    """Numbers of all nodes and of all their parts, by leaf."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.kept: dict[str, Samples] = {}

    def add(self, number: int, content: Mapping[str, Any]) -> None:
        """Take the numbers of the snapshot of a node."""
        kept = self.kept
        for leaf, part, value in sampled(content):
            if not -_MOST < value < _MOST:
                continue
            samples = kept.get(leaf)
            if samples is None:
                samples = kept[leaf] = _empty(leaf)
            samples.nodes.append(number)
            samples.parts.append(part)
            samples.values.append(value)

    def take(self, other: "SampleStore", base: int) -> None:
        """Add those of other nodes, whose numbers follow `base`."""
        for leaf, samples in other.kept.items():
            mine = self.kept.setdefault(leaf, _empty(leaf))
            mine.nodes.extend(moved(samples.nodes, base))
            mine.parts.extend(samples.parts)
            mine.values.extend(samples.values)

    def over(self, names: Sequence[str]) -> Iterator[Samples]:
        """Yield each number over all nodes, whose names these are."""
        for samples in self.kept.values():
            seen = set(samples.nodes)
            unseen = (name for n, name in enumerate(names) if n not in seen)
            yield samples._replace(unseen=tuple(unseen))


def _empty(leaf: str) -> Samples:
    return Samples(leaf, array("I"), array("I"), array("d"))


def sampled(content: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield each number with the part of the node that it belongs to."""
    host = content.get("host")
    if isinstance(host, dict):
        for leaf in _HOST:
            value = host.get(leaf.field)
            if isinstance(value, int | float):
                yield leaf.name, 0, value
    gpus = content.get("gpus")
    if isinstance(gpus, list):
        for number, gpu in enumerate(gpus):
            if not isinstance(gpu, dict):
                continue
            for leaf in _GPUS:
                value = gpu.get(leaf.field)
                if isinstance(value, int | float):
                    yield leaf.name, number, value
    yield from _copies(content.get("copy_tests"))
    yield from _products(content.get("matrix_products"))
    yield from _collectives(content.get("collective_runs"))


def _copies(tests: object) -> Iterator[Sample]:
    """Yield the rates of copies.

    Those of another size, or all at once, are other numbers.
    """
    for part in _parts(tests):
        rates, direction = part.get("bytes_per_second"), part.get("direction")
        if not isinstance(rates, list) or not isinstance(direction, str):
            continue
        words = [direction]
        words += [
            word
            for word, field in (
                ("both_ways", "is_bidirectional"),
                ("all_at_once", "is_all_at_once"),
            )
            if part.get(field) is True
        ]
        words += [
            str(part.get(field)) for field in ("method", "operation", "size_bytes")
        ]
        name = "copy_tests." + ".".join(words)
        for number, rate in enumerate(rates):
            if isinstance(rate, int | float):
                yield name, _gpu_of(part, number), rate


def _gpu_of(copies: Mapping[str, Any], number: int) -> int:
    """Return the GPU of a copy, that which sends where two take part."""
    for ends in (copies.get("from_gpu"), copies.get("to_gpu")):
        gpu = ends[number] if isinstance(ends, list) and number < len(ends) else None
        if isinstance(gpu, int) and gpu >= 0:
            return gpu
    return number


def _products(products: object) -> Iterator[Sample]:
    for part in _parts(products):
        rate, number = part.get("flops_per_second"), part.get("gpu_index")
        if isinstance(rate, int | float) and isinstance(number, int):
            fields = ("data_type", "rows", "columns", "depth")
            words = ".".join(str(part.get(field)) for field in fields)
            yield f"matrix_products.{words}", max(number, 0), rate


def _collectives(runs: object) -> Iterator[Sample]:
    """Yield the bus bandwidth of the largest message, of runs on one node."""
    for part in _parts(runs):
        sizes, rates = part.get("size_bytes"), part.get("bus_bytes_per_second")
        if part.get("nodes") != 1 or not isinstance(sizes, list):
            continue
        if not isinstance(rates, list) or len(rates) != len(sizes):
            continue
        known = [
            (size, rate)
            for size, rate in zip(sizes, rates, strict=True)
            if isinstance(size, int) and isinstance(rate, int | float)
        ]
        if known:
            size, rate = max(known)
            words = f"{part.get('collective')}.{part.get('ranks')}.{size}"
            yield f"collective_runs.{words}", 0, rate


def _parts(result: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(result, list):
        yield from (item for item in result if isinstance(item, dict))


_DIGEST = " sha256:"  # behind the first characters of a long value (node_result.py)


class HostMessage(Record):
    """What the engine of a node states of the run: its job and its nodes."""

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
        self.messages: dict[HostMessage, int] = {}
        self.runs: list[tuple[str, Mapping[str, Any]]] = []
        self.same: list[tuple[str, int, int]] = []
        self.distributions = Distributions()
        self.samples = SampleStore()
        self.findings = KeptFindings()
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
        result = launch_message(launch)
        if result is not None:
            self.messages[result] = self.messages.get(result, 0) + 1

    def add_own(self, own: OwnResult) -> int:
        """Take a node of which there is a result line alone; returns its number."""
        number = len(self.nodes)
        self.nodes.append(own.node)
        self.distributions.add_facts(number, _whole_facts(own))
        for finding in own.findings:
            self.findings.note(finding, number)
        return number

    def take(self, other: "Portion") -> None:
        """Add the nodes of another portion behind these."""
        base = len(self.nodes)
        self.nodes += other.nodes
        self.unread += other.unread
        self.results += other.results
        for key, count in other.messages.items():
            self.messages[key] = self.messages.get(key, 0) + count
        self.runs += other.runs
        self.distributions.take(other.distributions, base)
        self.samples.take(other.samples, base)
        if self.counters is not None and other.counters is not None:
            self.counters.take(other.counters, base)
        self.findings.take(other.findings, base)
        self.of_job |= other.of_job
        self.same += ((name, a + base, b + base) for name, a, b in other.same)
        for specimen, number in other.specimens.items():
            self._add_specimen(specimen, number + base)

    def _add_specimen(self, specimen: str, number: int) -> None:
        first = self.specimens.setdefault(specimen, number)
        if first != number:
            self.same.append((specimen, first, number))


def _whole_facts(own: OwnResult) -> dict[str, str]:
    """Return the facts of a line without those that are too long for it.

    Of these it tells the digest, which is another text than the value that snapshots
    hold: they are not known, and not another value.
    """
    return {leaf: text for leaf, text in own.facts if _DIGEST not in text}


def launch_message(launch: object) -> HostMessage | None:
    """Return what a snapshot or a result line says of the run, if anything."""
    if not isinstance(launch, dict):
        return None
    nodes = launch.get("nodes")
    engine, job, names = (
        text if isinstance(text, str) else ""
        for text in (launch.get(name) for name in ("engine", "job", "node_list"))
    )
    is_number = isinstance(nodes, int) and not isinstance(nodes, bool) and nodes > 0
    result = HostMessage(engine, job, nodes if is_number else None, names)
    return None if result == HostMessage() else result


def _specimens(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield what no other machine has: the identity of its GPUs."""
    gpus = content.get("gpus")
    if isinstance(gpus, list):
        for gpu in gpus:
            uuid = gpu.get("uuid") if isinstance(gpu, dict) else None
            if isinstance(uuid, str):
                yield uuid
