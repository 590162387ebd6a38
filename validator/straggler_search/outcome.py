"""What a judgement amounts to: verdict and exit code, and what was planned of it."""

from collections.abc import Iterable
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.straggler_search.follow_up import next_plan
from speccheck.validator.straggler_search.judgement import Judgement
from speccheck.validator.straggler_search.rounds import Plan

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


class Outcome(Record):
    """The answer to: is a node slow, and what is to be done next.

    following: the next plan; None where nothing is left to find out.
    """

    answer: Answer
    exit_code: int
    judgement: Judgement
    planned: Planned | None
    following: Plan | None
    not_read: tuple[str, ...]


def outcome_of(
    judgement: Judgement, plans: Iterable[Plan], not_read: tuple[str, ...]
) -> Outcome:
    """The answer; nobody is cleared by what is missing."""
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
    return Outcome(
        answer,
        _UNREADABLE if not_read else _EXIT_CODES[answer],
        judgement,
        planned,
        next_plan(judgement),
        not_read,
    )


def _planned(judgement: Judgement, plans: tuple[Plan, ...]) -> Planned | None:
    if not plans:
        return None
    hosts = dict.fromkeys(host for plan in plans for host in plan.hosts)
    known = _Names([*(one.host for one in judgement.nodes), *judgement.open])
    measured = {
        frozenset(trial.hosts)
        for one in judgement.conditions
        for trial in one.sets.trials
    }
    sets = [one for plan in plans for sets in plan.rounds for one in sets]
    done = sum(frozenset(map(known.measured, one)) in measured for one in sets)
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
        """The name in the results; empty where they have none, or several."""
        if name in self._names:
            return name
        found = self._by_short.get(_short(name)) or ""
        # Two that have different domains are two nodes.
        return found if found and "" in {_domain(found), _domain(name)} else ""


def _short(name: str) -> str:
    return name.partition(".")[0].lower()


def _domain(name: str) -> str:
    return name.partition(".")[2]
