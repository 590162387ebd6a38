"""The rounds that come next: suspects, each with nodes that are cleared.

As many suspects are put into one set as the cleared nodes allow: one, where there are
enough of them, and otherwise half of a slow set, so that slow sets are bisected.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.straggler_search.judgement import SearchJudgement
from speccheck.validator.straggler_search.rounds import (
    PAIR,
    Hosts,
    Round,
    SearchPlan,
    groups,
    pairs,
)

# Two rounds, for it takes two different partners to blame a node.
_CONFIRMING_ROUNDS = 2
_SPARE_LOOKS = 64


def next_plan(judgement: SearchJudgement) -> SearchPlan | None:
    """Return what to measure next; None where nothing is left to find out."""
    suspects = judgement.hosts("suspect")
    cleared = [node for node in judgement.nodes if node.verdict == "cleared"]
    if not suspects:
        return _anew(judgement.open) if judgement.open else None
    # Who was never slow comes first.
    cleared.sort(key=lambda judged_node: judged_node.slow_sets)
    size = _size(judgement, suspects)
    plan = follow_up(
        _by_set(judgement, suspects),
        [judged_node.host for judged_node in cleared],
        size,
        _met(judgement, {*suspects}),
    )
    return plan or _anew([node.host for node in judgement.nodes], size)


def _anew(hosts: Sequence[str], size: int = 0) -> SearchPlan | None:
    """Return a tournament of its own, in smaller sets, after one without result."""
    if len(hosts) <= 1:
        return None
    if size > 2 * PAIR:
        return groups(hosts, size // 2)
    return pairs(hosts)


def _size(judgement: SearchJudgement, suspects: Iterable[str]) -> int:
    """Return the size of the smallest sets in which a suspect was slow."""
    wanted = {*suspects}
    return min(
        len(trial.hosts)
        for node in judgement.nodes
        if node.host in wanted
        for trial in node.slow_trials
    )


def _by_set(judgement: SearchJudgement, suspects: Iterable[str]) -> list[list[str]]:
    """Return the suspects, those together that were slow in one set."""
    wanted = {*suspects}
    taken: set[str] = set()
    text_lists: list[list[str]] = []
    for node in judgement.nodes:
        if node.host not in wanted or node.host in taken:
            continue
        smallest = min(node.slow_trials, key=lambda trial: _left(trial.hosts, wanted))
        mates = [host for host in smallest.hosts if host in wanted - taken]
        taken.update(mates)
        text_lists.append(mates)
    return text_lists


def _left(hosts: Iterable[str], wanted: set[str]) -> int:
    return sum(host in wanted for host in hosts)


def _met(judgement: SearchJudgement, suspects: set[str]) -> dict[str, set[str]]:
    """Return with whom each suspect has measured."""
    result: dict[str, set[str]] = {host: set() for host in suspects}
    for condition in judgement.conditions:
        for trial in condition.sets.trials:
            for host in suspects.intersection(trial.hosts):
                result[host].update(trial.hosts)
    return result


def follow_up(
    suspects: Sequence[Sequence[str]],
    cleared: Sequence[str],
    size: int,
    met: dict[str, set[str]],
) -> SearchPlan | None:
    """Return rounds of sets of that size; None where too few nodes are cleared for any.

    Args:
        suspects: those together that were slow in one set.
        cleared: who fills the sets.
        size: of the sets in which the suspects were slow, so that they can be compared.
        met: with whom each suspect has measured; others are preferred.

    """
    together = _suspects_in_a_set(suspects, len(cleared), size)
    if together is None:
        return None
    pieces = [
        tuple(suspect[start : start + together])
        for suspect in suspects
        for start in range(0, len(suspect), together)
    ]
    rounds: list[Round] = []
    # A half of a slow set is divided again before anything in it is confirmed.
    for _ in range(_CONFIRMING_ROUNDS if together == 1 else 1):
        rounds.extend(_rounds(pieces, cleared, size, met, len(rounds)))
    if not rounds:
        return None
    return SearchPlan("pairs" if size == PAIR else "groups", tuple(rounds))


def _suspects_in_a_set(
    suspects: Sequence[Sequence[str]], cleared: int, size: int
) -> int | None:
    """Return how many suspects share a set: the fewest that one round takes."""
    largest = max(map(len, suspects))
    most = min(max(1, largest // 2), size - 1) if size > 1 else 1
    for number in range(1, most + 1):
        sets = sum(-(-len(suspect) // number) for suspect in suspects)
        if sets * (size - number) <= cleared:
            return number
    return most if size - most <= cleared else None


def _rounds(
    pieces: Sequence[Hosts],
    cleared: Sequence[str],
    size: int,
    met: dict[str, set[str]],
    turn: int,
) -> list[Round]:
    """Return each piece once, in as many rounds as the cleared nodes need."""
    rounds: list[Round] = []
    left = list(pieces)
    while left:
        # Another start each time: partners are others also where all are met.
        start = (turn + len(rounds)) * max(1, size - 1) % max(1, len(cleared))
        free = dict.fromkeys([*cleared[start:], *cleared[:start]])
        sets: list[Hosts] = []
        while left and len(free) >= size - len(left[0]):
            piece = left.pop(0)
            partners = _partners(piece, free, size - len(piece), met)
            for host in partners:
                del free[host]
            for host in piece:
                met.setdefault(host, set()).update(partners)
            sets.append((*piece, *partners))
        if not sets:  # the rest of a set is smaller than what fills it
            break
        rounds.append(tuple(sets))
    return rounds


def _partners(
    piece: Hosts, free: dict[str, None], number: int, met: dict[str, set[str]]
) -> list[str]:
    """Return free nodes, those first that none of the suspects has met."""
    known: set[str] = set().union(*(met.get(host, set()) for host in piece))
    looked = [*islice(free, 4 * number + _SPARE_LOOKS)]
    looked.sort(key=lambda host: host in known)
    return looked[:number]


Answer = Literal["slow", "suspects", "inconclusive", "none_slow"]
_EXIT_CODES: dict[Answer, int] = {
    "slow": 1,
    "suspects": 3,
    "inconclusive": 3,
    "none_slow": 0,
}
_UNREADABLE = 2


class Planned(Record):
    """What the plan asked for, and what of it is not in the results."""

    nodes: int
    missing: tuple[str, ...]
    sets: int
    sets_measured: int


class SearchOutcome(Record):
    """The answer to: is a node slow, and what is to be done next.

    following: the next plan; None where nothing is left to find out.
    """

    answer: Answer
    exit_code: int
    judgement: SearchJudgement
    planned: Planned | None
    following: SearchPlan | None
    not_read: tuple[str, ...]


def outcome_of(
    judgement: SearchJudgement, plans: Iterable[SearchPlan], not_read: tuple[str, ...]
) -> SearchOutcome:
    """Return the answer; nobody is cleared by what is missing."""
    planned = _planned(judgement, tuple(plans))
    is_missing = planned is not None and bool(planned.missing)
    answer: Answer
    if judgement.hosts("slow"):
        answer = "slow"
    elif judgement.accused:
        answer = "suspects"
    elif judgement.open or not judgement.nodes or is_missing:
        answer = "inconclusive"
    else:
        answer = "none_slow"
    return SearchOutcome(
        answer,
        _UNREADABLE if not_read else _EXIT_CODES[answer],
        judgement,
        planned,
        next_plan(judgement),
        not_read,
    )


def _planned(
    judgement: SearchJudgement, plans: tuple[SearchPlan, ...]
) -> Planned | None:
    if not plans:
        return None
    hosts = dict.fromkeys(host for plan in plans for host in plan.hosts)
    known = _Names([*(node.host for node in judgement.nodes), *judgement.open])
    measured = {
        frozenset(trial.hosts)
        for condition in judgement.conditions
        for trial in condition.sets.trials
    }
    sets = [set_ for plan in plans for sets in plan.rounds for set_ in sets]
    done = sum(frozenset(map(known.measured, set_)) in measured for set_ in sets)
    missing = tuple(host for host in hosts if not known.measured(host))
    return Planned(len(hosts), missing, len(sets), done)


class _Names:
    """Names as results have them: a plan may leave out the domain, or add it."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {*names}
        self._by_short: dict[str, str | None] = {}
        for name in self._names:
            short = _short(name)
            self._by_short[short] = None if short in self._by_short else name

    def measured(self, name: str) -> str:
        """Return the name in the results; empty where they have none, or several."""
        if name in self._names:
            return name
        text = self._by_short.get(_short(name)) or ""
        # Two that have different domains are two nodes.
        return text if text and "" in {_domain(text), _domain(name)} else ""


def _short(name: str) -> str:
    return name.partition(".")[0].lower()


def _domain(name: str) -> str:
    return name.partition(".")[2]
