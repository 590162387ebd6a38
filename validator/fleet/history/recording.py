"""A judged fleet as one run of a history."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from math import isfinite
from statistics import median

from speccheck.validator import VERSION
from speccheck.validator.engine.tailoring import own_number_text
from speccheck.validator.evidence.fleet import RATES, Samples, Shared
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.shard import EVENTS
from speccheck.validator.fleet.verdict import FleetVerdict, Unfit

FIT = "fit"
_LOW_IS_BAD = ("host.memory_available_bytes",)
_MOST_TEXT = 500
# Before a reason why a value is not known, and before a value that begins like it.
UNKNOWN, KNOWN = "?", "="
_UNTOLD = UNKNOWN + "its evidence does not tell it"


class NodeState(Record):
    """One node: fit or why not. is_here: it reported; others are only known of."""

    name: str
    state: str
    taken: float | None
    reason: str
    is_here: bool


class NodeNumber(Record):
    """One number of a node over its parts."""

    name: str
    median: float
    worst: float


class FleetNumber(Record):
    """One number over all nodes, from their medians."""

    nodes: int
    median: float
    deviation: float
    least: float
    most: float


class HistoryRun(Record):
    """All that is kept of a run.

    usual: the most frequent value of each leaf; otherwise: by leaf and node what others
    have. What is not known begins with UNKNOWN. counters: by leaf and node.
    """

    key: str
    taken: float
    edition: str
    tool: str
    job: str
    verdict: str
    reason: str
    exit_code: int
    is_synthetic: bool
    states: tuple[NodeState, ...]
    usual: Mapping[str, str]
    otherwise: Mapping[str, Mapping[str, str]]
    numbers: Mapping[str, tuple[NodeNumber, ...]]
    of_fleet: Mapping[str, FleetNumber]
    counters: Mapping[str, Mapping[str, float]]


def history_run(run: FleetRun, verdict: FleetVerdict) -> HistoryRun:
    """Return what is kept of a judged fleet."""
    job = ", ".join(run.jobs)
    states = tuple(_states(run, verdict))
    taken = [state.taken for state in states if state.taken is not None]
    names = [node.name for node in run.nodes]
    usual: dict[str, str] = {}
    otherwise: dict[str, dict[str, str]] = {}
    for leaf, shared in run.fleet.shared.items() if names else ():
        usual[leaf], otherwise[leaf] = _shared(shared, names)
    numbers = {
        sample.leaf: tuple(_numbers(sample, names))
        for sample in run.fleet.samples.values()
    }
    return HistoryRun(
        _key(run, states, job),
        max(taken, default=run.fleet.started or 0.0),
        f"{run.edition.id} {run.edition.sha256[:12]}",
        VERSION,
        job[:_MOST_TEXT],
        verdict.word,
        hidden(verdict.reason)[:_MOST_TEXT],
        verdict.code,
        any(node.is_synthetic for node in run.nodes),
        states,
        usual,
        otherwise,
        numbers,
        {leaf: _of_fleet(number) for leaf, number in numbers.items() if number},
        dict(_counters(run, names)),
    )


def _states(run: FleetRun, verdict: FleetVerdict) -> Iterator[NodeState]:
    unfit = {unfit.name: unfit for unfit in verdict.unfit}
    taken = {node.name: node.taken for node in run.nodes}
    for name in dict.fromkeys((*taken, *unfit)):
        result = unfit.get(name)
        state = result.state if result else FIT
        reason = _reason(result) if result else ""
        yield NodeState(name, state, taken.get(name), reason, name in taken)


def _reason(unfit: Unfit) -> str:
    texts = (
        f"{why.rule}: {why.message}" if why.rule else why.message
        for why in unfit.reasons
    )
    return hidden("; ".join(dict.fromkeys(texts)))[:_MOST_TEXT]


def _key(run: FleetRun, states: Iterable[NodeState], job: str) -> str:
    """Return the same for the same evidence that is judged in the same way."""
    digest = sha256()
    own = "; ".join(map(own_number_text, run.edition.tailoring))
    words = (run.edition.sha256, run.use, VERSION, job, *filter(None, [own]))
    # Reasons tell how old a report is, and with that the time of day.
    rows = sorted((state.name, str(state.taken), state.state) for state in states)
    for word in (*words, *(text for row in rows for text in row)):
        content = word.encode("utf-8", "surrogateescape")
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def _shared(shared: Shared, names: Iterable[str]) -> tuple[str, dict[str, str]]:
    """Return what most nodes have, and what each other one has."""
    result = dict.fromkeys(names, _UNTOLD)
    for group in shared.unseen:
        result.update(dict.fromkeys(group.hosts, UNKNOWN + group.value[:_MOST_TEXT]))
    for group in shared.groups:
        result.update(dict.fromkeys(group.hosts, _value(group.value)))
    counts = Counter(result.values())
    usual = max(counts, key=lambda value: (counts[value], value))
    return usual, {name: value for name, value in result.items() if value != usual}


def _value(text: str) -> str:
    text = hidden(text)[:_MOST_TEXT]
    return KNOWN + text if text.startswith((UNKNOWN, KNOWN)) else text


def _numbers(samples: Samples, names: list[str]) -> Iterator[NodeNumber]:
    by_node: dict[int, list[float]] = {}
    for number, value in zip(samples.nodes, samples.values, strict=True):
        if isfinite(value):
            by_node.setdefault(number, []).append(value)
    is_low_bad = samples.leaf in _LOW_IS_BAD or samples.leaf.startswith(RATES)
    worst = min if is_low_bad else max
    seen: set[str] = set()
    for number, values in by_node.items():
        if names[number] not in seen:  # of two snapshots of one node, the first
            seen.add(names[number])
            yield NodeNumber(names[number], median(values), worst(values))


def _of_fleet(node_numbers: tuple[NodeNumber, ...]) -> FleetNumber:
    medians = [node_number.median for node_number in node_numbers]
    centre = median(medians)
    return FleetNumber(
        len(medians),
        centre,
        median(abs(value - centre) for value in medians),
        min(medians),
        max(medians),
    )


def _counters(
    run: FleetRun, names: list[str]
) -> Iterator[tuple[str, dict[str, float]]]:
    for leaf, totals in run.counters.kept.items():
        if leaf != EVENTS:
            pairs = zip(totals.nodes, totals.sums, strict=True)
            yield (
                leaf,
                {names[number]: total for number, total in pairs if isfinite(total)},
            )
