"""What the runs of collectives say: sets of nodes, each with what it reached.

Only like is compared with like: runs of one collective, one placement and type, as many
ranks and nodes, by one tool, at one message size.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place

# Words for a run that somebody stopped, or that goes on; what else ended it is a fault.
_STOPPED = ("time budget", "interrupt", "still running when this was written")
# Nobody knows why: a fault where it did not even reach the size that is compared.
_NOT_TOLD = (None, "end of the log")


class Conditions(Record):
    """What must be alike before two sets are compared; None: the tool does not say."""

    collective: str
    hosts: int
    ranks: int | None
    backend: str | None
    data_type: str | None
    placement: str | None
    algorithm: str | None
    tool: str | None
    gpu: str | None


class Trial(Record):
    """One set of nodes that measured once.

    fault: why it counts as slow whatever it reached; empty where nothing went wrong.
    """

    hosts: tuple[str, ...]
    bytes_per_second: float | None
    fault: str
    place: Place


class Comparable(Record):
    """Trials under the same conditions, at the size that most of them measured."""

    conditions: Conditions
    size_bytes: int
    trials: tuple[Trial, ...]


class Sorted(Record):
    """All that can be compared, and why the rest cannot: reason and number of runs."""

    comparables: tuple[Comparable, ...]
    left_out: tuple[tuple[str, int], ...]


def sorted_runs(runs: Iterable[CollectiveRun]) -> Sorted:
    """The runs by their conditions, the smallest sets first."""
    left_out: Counter[str] = Counter()
    by_conditions: dict[Conditions, list[CollectiveRun]] = {}
    for run in runs:
        reason = _unusable(run)
        if reason:
            left_out[reason] += 1
        else:
            by_conditions.setdefault(_conditions(run), []).append(run)
    found = [
        one
        for conditions, alike in by_conditions.items()
        if (one := _comparable(conditions, alike, left_out)) is not None
    ]
    found.sort(key=lambda one: (one.conditions.hosts, one.conditions.collective))
    return Sorted(tuple(found), (*left_out.items(),))


def _unusable(run: CollectiveRun) -> str:
    """Why a run cannot be compared with any other; empty where it can."""
    hosts = run.hosts.value
    if not hosts:
        return "names no hosts"
    if None in hosts or (run.nodes.is_known and run.nodes.value != len({*hosts})):
        return "does not name all of its hosts"
    if not run.collective.is_known:
        return "does not name its collective"
    return ""


def hosts_of(run: CollectiveRun) -> tuple[str, ...]:
    """The nodes of a run by name, each once."""
    return tuple(sorted({host for host in run.hosts.value or () if host}))


def _conditions(run: CollectiveRun) -> Conditions:
    return Conditions(
        run.collective.need(),
        len(hosts_of(run)),
        run.ranks.value,
        run.backend.value,
        run.data_type.value,
        run.placement.value,
        run.algorithm.value,
        run.tool.value,
        run.gpu.value,
    )


def _comparable(
    conditions: Conditions, runs: Sequence[CollectiveRun], left_out: Counter[str]
) -> Comparable | None:
    rates = [_rates(run) for run in runs]
    counts = Counter(size for one in rates for size in one)
    if not counts:
        left_out["has no bus bandwidth"] += len(runs)
        return None
    # Bandwidth shows in large messages; one that few runs have compares few.
    measured = sum(map(bool, rates))
    usual = [one for one, number in counts.items() if 2 * number > measured]
    size = max(usual) if usual else max(counts, key=lambda one: (counts[one], one))
    trials: dict[tuple[object, ...], list[Trial]] = {}
    for run, one in zip(runs, rates, strict=True):
        fault = _fault(run, has_ended_early=size not in one)
        rate = one.get(size)
        if rate is None and not fault:
            left_out[f"has no message of {size:,} bytes"] += 1
            continue
        place = run.hosts.places[0]
        if run.bus_bytes_per_second.places:
            place = run.bus_bytes_per_second.places[0]
        trial = Trial(hosts_of(run), rate, fault, place)
        # Repeated at once, it is the same try: a swing lasts longer than that.
        key = trial.hosts, place.file, run.round.value
        trials.setdefault(key, []).append(trial)
    return Comparable(conditions, size, tuple(map(_one_of, trials.values())))


def _rates(run: CollectiveRun) -> dict[int, float]:
    sizes = run.size_bytes.value or ()
    rates = run.bus_bytes_per_second.value or ()
    return {
        size: rate
        for size, rate in zip(sizes, rates, strict=False)
        if size and rate and rate > 0
    }


def _fault(run: CollectiveRun, *, has_ended_early: bool) -> str:
    if any(run.wrong_values.value or ()):
        return "wrong results"
    ended_by = run.ended_by.value
    if run.is_complete.value is not False or ended_by in _STOPPED:
        return ""
    is_fault = has_ended_early or ended_by not in _NOT_TOLD
    return "did not end" if is_fault else ""


def _one_of(trials: Sequence[Trial]) -> Trial:
    """One trial of those that repeat it at once: the median, and any fault."""
    if len(trials) == 1:
        return trials[0]
    rates = [one.bytes_per_second for one in trials if one.bytes_per_second]
    fault = next((one.fault for one in trials if one.fault), "")
    return trials[0]._replace(
        bytes_per_second=median(rates) if rates else None, fault=fault
    )
