"""Which nodes the results speak against, how sure, and which they clear.

A node is cleared when a set with it reached what is usual. A slow set speaks against a
node where all other members are cleared elsewhere: then nobody else is left. A node is
blamed for two such sets with different partners, and not before: healthy links swing by
a fifth for a while (Azure/azurehpc-health-checks). Where it is slower by less than such
a swing, there must be so many that no healthy node of the tournament is likely to have
as many by chance.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.models.peers import Peers, at_least, peers_of

# Words for a run that somebody stopped, or that goes on; what else ended it is a fault.
_STOPPED = ("time budget", "interrupt", "still running when this was written")
# Nobody knows why: a fault where it did not even reach the size that is compared.
_UNSTATED = (None, "end of the log")


class SetConditions(Record):
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

    conditions: SetConditions
    size_bytes: int
    trials: tuple[Trial, ...]


class Sorted(Record):
    """All that can be compared, and why the rest cannot: reason and number of runs."""

    comparables: tuple[Comparable, ...]
    left_out: tuple[tuple[str, int], ...]


def sorted_runs(runs: Iterable[CollectiveRun]) -> Sorted:
    """Return the runs by their conditions, the smallest sets first."""
    left_out: Counter[str] = Counter()
    by_conditions: dict[SetConditions, list[CollectiveRun]] = {}
    for run in runs:
        reason = _unusable(run)
        if reason:
            left_out[reason] += 1
        else:
            by_conditions.setdefault(_conditions(run), []).append(run)
    comparables = [
        comparable
        for conditions, alike in by_conditions.items()
        if (comparable := _comparable(conditions, alike, left_out)) is not None
    ]
    comparables.sort(
        key=lambda item: (item.conditions.hosts, item.conditions.collective)
    )
    return Sorted(tuple(comparables), (*left_out.items(),))


def _unusable(run: CollectiveRun) -> str:
    """Return why a run cannot be compared with any other; empty where it can."""
    hosts = run.hosts.value
    if not hosts:
        return "names no hosts"
    if None in hosts or (run.nodes.is_known and run.nodes.value != len({*hosts})):
        return "does not name all of its hosts"
    if not run.collective.is_known:
        return "does not name its collective"
    return ""


def hosts_of(run: CollectiveRun) -> tuple[str, ...]:
    """Return the nodes of a run by name, each once."""
    return tuple(sorted({host for host in run.hosts.value or () if host}))


def _conditions(run: CollectiveRun) -> SetConditions:
    return SetConditions(
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
    conditions: SetConditions, runs: Sequence[CollectiveRun], left_out: Counter[str]
) -> Comparable | None:
    rates = [_rates(run) for run in runs]
    counts = Counter(size for rate in rates for size in rate)
    if not counts:
        left_out["has no bus bandwidth"] += len(runs)
        return None
    # Bandwidth shows in large messages; one that few runs have compares few.
    measured = sum(map(bool, rates))
    usual = [item for item, number in counts.items() if 2 * number > measured]
    size = (
        max(usual) if usual else max(counts, key=lambda count: (counts[count], count))
    )
    trials: dict[tuple[object, ...], list[Trial]] = {}
    for run, item in zip(runs, rates, strict=True):
        fault = _fault(run, has_ended_early=size not in item)
        rate = item.get(size)
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
    is_fault = has_ended_early or ended_by not in _UNSTATED
    return "did not end" if is_fault else ""


def _one_of(trials: Sequence[Trial]) -> Trial:
    """Return one trial for those that repeat it at once: the median, and any fault."""
    if len(trials) == 1:
        return trials[0]
    rates = [trial.bytes_per_second for trial in trials if trial.bytes_per_second]
    fault = next((trial.fault for trial in trials if trial.fault), "")
    return trials[0]._replace(
        bytes_per_second=median(rates) if rates else None, fault=fault
    )


Verdict = Literal["slow", "suspect", "cleared"]
State = Literal["judged", "too_few", "split", "noisy"]
_WORST_FIRST: tuple[Verdict, ...] = ("slow", "suspect", "cleared")
TWO = 2


class Limits(Record):
    """The numbers of the clause: what is noise, and how much evidence blames a node."""

    max_deviations: float
    max_shortfall: float
    swing: float
    fewest_sets: int
    smallest_message: int
    usual_swings: float
    largest_chance: float
    split_share: float


class JudgedNode(Record):
    """One node, by all of its sets under one set of conditions.

    bytes_per_second: the median of what its sets reached; None where none ended.
    partners: different sets of partners, all of them cleared, with which it was slow.
    chance: of how many healthy nodes of this tournament transient swings alone would
    make such a one.
    """

    host: str
    verdict: Verdict
    why: str
    bytes_per_second: float | None
    share: float | None
    deviations: float | None
    sets: int
    slow_sets: int
    partners: int
    chance: float
    slow_trials: tuple[Trial, ...]
    conditions: SetConditions


class JudgedSets(Record):
    """All sets under the same conditions; peers and nodes where these can be judged."""

    sets: Comparable
    state: State
    peers: Peers | None = None
    nodes: tuple[JudgedNode, ...] = ()
    slow_sets: int = 0


class SearchJudgement(Record):
    """What all results say together.

    nodes: each node by its worst verdict. open: nodes that were measured, and not under
    conditions that could be judged. left_out: runs that could not be compared.
    """

    conditions: tuple[JudgedSets, ...]
    nodes: tuple[JudgedNode, ...]
    open: tuple[str, ...]
    left_out: tuple[tuple[str, int], ...]

    def hosts(self, verdict: Verdict) -> tuple[str, ...]:
        """Return the nodes of that verdict."""
        return tuple(node.host for node in self.nodes if node.verdict == verdict)

    @property
    def accused(self) -> tuple[JudgedNode, ...]:
        """The nodes that are blamed, and those that are suspected."""
        return tuple(node for node in self.nodes if node.verdict != "cleared")

    @property
    def is_tournament(self) -> bool:
        """Whether different sets measured the same; repeats of one set are none."""
        return any(
            len({trial.hosts for trial in condition.sets.trials}) > 1
            for condition in self.conditions
        )

    @property
    def undecided(self) -> tuple[JudgedSets, ...]:
        """Sets that could not be judged, of nodes of which nothing else tells."""
        left = {*self.open}
        return tuple(
            condition
            for condition in self.conditions
            if condition.state != "judged"
            and any(not left.isdisjoint(trial.hosts) for trial in condition.sets.trials)
        )

    def of(self, node: JudgedNode) -> tuple[JudgedSets, Peers]:
        """Return the sets and the peers by which a node was judged."""
        for condition in self.conditions:
            if (
                condition.sets.conditions == node.conditions
                and condition.peers is not None
            ):
                return condition, condition.peers
        raise KeyError(node.host)


def judge(runs: Iterable[CollectiveRun], limits: Limits) -> SearchJudgement:
    """Judge all runs; those under other conditions apart."""
    listed = tuple(runs)
    sorted_ = sorted_runs(listed)
    conditions = tuple(
        _judged(comparable, limits) for comparable in sorted_.comparables
    )
    nodes = _combined(conditions)
    known = {node.host for node in nodes}
    measured = dict.fromkeys(host for run in listed for host in hosts_of(run))
    left = tuple(host for host in measured if host not in known)
    return SearchJudgement(conditions, nodes, left, sorted_.left_out)


def _judged(sets: Comparable, limits: Limits) -> JudgedSets:
    if _are_too_few(sets, limits):
        return JudgedSets(sets, "too_few")
    peers = _peers(sets.trials, limits)
    fast = sum((trial.bytes_per_second or 0) > peers.most for trial in sets.trials)
    if fast > limits.split_share * len(sets.trials):
        return JudgedSets(sets, "split", peers)
    if limits.max_deviations * peers.deviation > limits.swing * peers.median:
        return JudgedSets(sets, "noisy", peers)
    tournament = _Tournament(sets, peers, limits)
    nodes = tuple(tournament.node(host) for host in tournament.by_host)
    return JudgedSets(sets, "judged", peers, nodes, tournament.slow_sets)


def _peers(trials: Sequence[Trial], limits: Limits) -> Peers:
    """Return what is usual of sets without a slow member.

    A slow node may be in half of all sets, as in all pairs of four. So nodes are first
    compared by the best that each of them reached, and then the sets of those that are
    no outliers, for the best of many tells more of luck than of what is usual.
    """
    noise = limits.max_deviations, limits.max_shortfall
    sound = [trial for trial in trials if trial.bytes_per_second and not trial.fault]
    best: dict[str, float] = {}
    for trial in sound:
        for host in trial.hosts:
            best[host] = max(best.get(host, 0.0), trial.bytes_per_second or 0.0)
    first = peers_of([*best.values()], *noise)
    usual = [
        trial.bytes_per_second or 0.0
        for trial in sound
        if all(best[host] >= first.least for host in trial.hosts)
    ]
    return peers_of(usual, *noise) if len(usual) > 1 else first


def _are_too_few(sets: Comparable, limits: Limits) -> bool:
    sound = sum(
        trial.bytes_per_second is not None and not trial.fault for trial in sets.trials
    )
    hosts = {host for trial in sets.trials for host in trial.hosts}
    return (
        sound < TWO
        or min(len(sets.trials), len(hosts)) < limits.fewest_sets
        or sets.size_bytes < limits.smallest_message
    )


class _Tournament:
    """All trials under one set of conditions, and who was fast in any of them."""

    def __init__(self, sets: Comparable, peers: Peers, limits: Limits) -> None:
        self._peers, self._limits = peers, limits
        self._conditions = sets.conditions
        trials = sets.trials
        self.by_host: dict[str, list[Trial]] = {}
        for trial in trials:
            for host in trial.hosts:
                self.by_host.setdefault(host, []).append(trial)
        # How many members of a trial were at full speed in any set.
        self._proven = {
            host
            for host, own in self.by_host.items()
            if any(not self._is_slow(trial) for trial in own)
        }
        self._unproven = {
            id(trial): sum(host not in self._proven for host in trial.hosts)
            for trial in trials
        }
        slow = [trial for trial in trials if self._is_slow(trial)]
        self.slow_sets = len(slow)
        # Sets whose members are all cleared were slow by a swing: so often that is.
        swings = sum(not self._unproven[id(trial)] for trial in slow)
        among = len(trials) - len(slow) + swings
        # Few sets tell little of it: it is never taken for less than usual.
        seen = (swings + 1) / (among + 1 / limits.usual_swings)
        self._chance = max(seen, limits.usual_swings)
        wide = [trial for trial in slow if not self._unproven[id(trial)]]
        self._wide_chance = sum(map(self._is_beyond_swing, wide)) / max(1, among)

    def _is_slow(self, trial: Trial) -> bool:
        rate = trial.bytes_per_second
        return bool(trial.fault) or rate is None or rate < self._peers.least

    def _is_beyond_swing(self, trial: Trial) -> bool:
        rate = trial.bytes_per_second
        least = self._peers.median * (1 - self._limits.swing)
        return bool(trial.fault) or rate is None or rate < least

    def node(self, host: str) -> JudgedNode:
        """Return what all sets with the node say of it."""
        own = self.by_host[host]
        slow = [trial for trial in own if self._is_slow(trial)]
        is_proven = host in self._proven
        # Nobody else is left to blame: every other member is cleared.
        against = [
            trial for trial in slow if self._unproven[id(trial)] == (not is_proven)
        ]
        fast = len(own) - len(slow)
        partners = _different(against)
        tail = at_least(len(against), len(against) + fast, self._chance)
        chance = tail * len(self.by_host)
        rates = [trial.bytes_per_second for trial in own if trial.bytes_per_second]
        rate = median(rates) if rates else None
        verdict, why = self._verdict(slow, against, fast, partners, chance)
        return JudgedNode(
            host,
            verdict,
            why,
            rate,
            None if rate is None else self._peers.share(rate),
            None if rate is None else self._peers.deviations_below(rate),
            len(own),
            len(slow),
            partners,
            chance,
            tuple(slow),
            self._conditions,
        )

    def _verdict(
        self,
        slow: Sequence[Trial],
        against: Sequence[Trial],
        fast: int,
        partners: int,
        chance: float,
    ) -> tuple[Verdict, str]:
        is_often = len(against) > fast
        is_no_chance = partners >= TWO and chance < self._limits.largest_chance
        text = _against(against, partners)
        beyond = [trial for trial in against if self._is_beyond_swing(trial)]
        if not fast and 2 * len(beyond) > len(against) and self._is_no_swing(beyond):
            worse = _against(beyond, _different(beyond))
            return "slow", f"{worse}, by over {self._limits.swing:.0%}"
        if is_no_chance and is_often:
            return "slow", f"{text}; as swings, {_seldom(chance)}"
        of_all = f"in {fast or len(slow)} of {len(slow) + fast} sets"
        if fast and not is_often and not is_no_chance:
            return "cleared", f"at full speed {of_all}"
        return "suspect", self._doubt(against, fast, partners, of_all)

    def _is_no_swing(self, beyond: Sequence[Trial]) -> bool:
        """Return whether enough sets, at least two, were slow by more than swings.

        Where sets of cleared nodes are as slow, two may not be.
        """
        if _different(beyond) < TWO:
            return False
        tail = at_least(len(beyond), len(beyond), self._wide_chance)
        return tail * len(self.by_host) < self._limits.largest_chance

    def _doubt(
        self, against: Sequence[Trial], fast: int, partners: int, of_all: str
    ) -> str:
        """Return why a node is suspected, and not blamed."""
        if fast:
            return f"unsteady, at full speed {of_all}"
        if not against:
            return "its partners are not cleared either"
        text = _against(against, partners)
        if partners < TWO:
            return f"{text}; it takes two"
        return f"{text}, as swings of {self._limits.swing:.0%} may make it"


def _different(trials: Iterable[Trial]) -> int:
    """Return the different sets of partners.

    A node that measures alone counts each time.
    """
    return len(
        {trial.hosts if len(trial.hosts) > 1 else trial.place for trial in trials}
    )


def _against(trials: Sequence[Trial], partners: int) -> str:
    """Return with whom it was slow, or did worse."""
    faults = dict.fromkeys(trial.fault for trial in trials if trial.fault)
    what = f"{', '.join(faults)} " if faults else ""
    if trials and len(trials[0].hosts) == 1:
        return f"{what}in {len(trials)} runs"
    if partners == 1:
        return f"{what}with one partner that is cleared"
    return f"{what}with {partners} different partners that are cleared"


def _seldom(chance: float) -> str:
    """Return how rare it would be that a healthy node looks so."""
    most = 1_000_000
    times = min(1 / chance, most) if chance else most
    return f"seen once in {times:,.0f} tournaments" + (" or less" * (times == most))


def _combined(conditions: Sequence[JudgedSets]) -> tuple[JudgedNode, ...]:
    """Return each node by its worst verdict, the slowest first.

    A slow set is explained by a member that is blamed: who was slow in such sets only,
    and was at full speed under other conditions, is cleared.
    """
    by_host: dict[str, list[JudgedNode]] = {}
    for condition in conditions:
        for node in condition.nodes:
            by_host.setdefault(node.host, []).append(node)
    blamed = {
        host
        for host, judged_nodes in by_host.items()
        if any(judged_node.verdict == "slow" for judged_node in judged_nodes)
    }
    nodes = [
        _judgement_one_of(judged_nodes, blamed) for judged_nodes in by_host.values()
    ]
    nodes.sort(key=lambda node: (_WORST_FIRST.index(node.verdict), node.share or 0.0))
    return tuple(nodes)


def _judgement_one_of(
    judged_nodes: Sequence[JudgedNode], blamed: Iterable[str]
) -> JudgedNode:
    left = [
        judged_node
        for judged_node in judged_nodes
        if judged_node.verdict != "suspect"
        or not all(
            _is_explained(trial, judged_node.host, blamed)
            for trial in judged_node.slow_trials
        )
    ]
    is_cleared = any(judged_node.verdict == "cleared" for judged_node in left)
    return min(
        left if is_cleared else judged_nodes,
        key=lambda judged_node: (
            _WORST_FIRST.index(judged_node.verdict),
            judged_node.share or 0.0,
        ),
    )


def _is_explained(trial: Trial, host: str, blamed: Iterable[str]) -> bool:
    return any(text != host and text in blamed for text in trial.hosts)


_BINARY = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_GIGA = 1e9
_SMALL_RATE = 0.1 * _GIGA


def rate_words(bytes_per_second: float | None) -> str:
    """Return a rate in GB/s (10^9), with as many digits as tell slow links apart."""
    if bytes_per_second is None:
        return "-"
    digits = 4 if bytes_per_second < _SMALL_RATE else 1
    return f"{bytes_per_second / _GIGA:.{digits}f}"


def size_words(size: int) -> str:
    """Return a message size: `1 GiB`, `5,000 B`."""
    for unit, factor in _BINARY:
        if size >= factor and size % factor == 0:
            return f"{size // factor:,} {unit}"
    return f"{size:,} B"


def set_words(sets: Comparable) -> str:
    """Return what was measured: `all_reduce of 1 GiB over 2 nodes (16 ranks)`."""
    conditions = sets.conditions
    nodes = "1 node" if conditions.hosts == 1 else f"{conditions.hosts:,} nodes"
    ranks = f" ({conditions.ranks:,} ranks)" if conditions.ranks else ""
    return (
        f"{conditions.collective} of {size_words(sets.size_bytes)} over {nodes}{ranks}"
    )


def condition_words(sets: Comparable) -> str:
    """Return other conditions: `float32, out_of_place, nccl, by nccl-tests`."""
    conditions = sets.conditions
    parts = [
        conditions.data_type,
        conditions.placement,
        conditions.algorithm,
        conditions.backend,
    ]
    texts = [part for part in parts if part]
    if conditions.tool:
        texts.append(f"by {conditions.tool}")
    return ", ".join(texts)


def undecided_words(judged_sets: JudgedSets, limits: Limits) -> str:
    """Return why sets cannot be judged by their peers."""
    sets, size = len(judged_sets.sets.trials), judged_sets.sets.size_bytes
    if judged_sets.state == "split" and judged_sets.peers is not None:
        return (
            f"more than {limits.split_share:.0%} of {sets:,} sets are above "
            f"{rate_words(judged_sets.peers.most)} GB/s, where the median is "
            f"{rate_words(judged_sets.peers.median)}: either most nodes are slow, "
            "or some sets "
            "have shorter ways, as within a rack; measure in smaller sets"
        )
    if judged_sets.state == "noisy" and judged_sets.peers is not None:
        noise = (
            limits.max_deviations
            * judged_sets.peers.deviation
            / judged_sets.peers.median
        )
        return (
            f"{sets:,} sets spread too far: {limits.max_deviations:g} MAD are "
            f"{noise:.0%} of the median, and a slow node would hide in that; measure "
            "larger messages, longer, on an idle fabric"
        )
    if size < limits.smallest_message:
        return (
            f"messages of {size_words(size)} tell of latency; bandwidth is compared "
            f"from {size_words(limits.smallest_message)} on"
        )
    return (
        f"{sets:,} of such sets, of which some may not have ended; peers are judged "
        f"from {limits.fewest_sets} sets and as many nodes on"
    )
