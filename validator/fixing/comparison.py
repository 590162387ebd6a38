"""Whether edited files are judged better than before, and nothing is judged worse."""

from collections import Counter
from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.plan_judge import JudgedPlan
from speccheck.validator.run import Run

PlanKey = tuple[str, ...]
_RANKS = {"not_applicable": 0, "pass": 0, "unknown": 1, "fail": 2, "error": 3}
_TOLD = frozenset({"error", "warning"})


class Owned(Record):
    """A finding and the plan that it is of."""

    plan: PlanKey
    finding: Finding


def plan_key(plan: JudgedPlan) -> PlanKey:
    """What a plan is known by in several runs: the files that make it."""
    return tuple(file.path for file in plan.files)


def all_findings(found: Run) -> Iterator[Owned]:
    """The findings of all plans."""
    for plan in found.plans:
        key = plan_key(plan)
        for one in plan.findings:
            yield Owned(key, one.finding)


def objection(before: Run, now: Run, mended: Iterable[Owned]) -> str | None:
    """Why edits are not to be kept; None where they mend what they should.

    Args:
        before: judged without them.
        now: judged with them.
        mended: the findings that they should make go away.
    """
    return (
        _changed_files(before, now)
        or _still_there(before, now, tuple(mended))
        or _new_failure(before, now)
        or _worse_clause(before, now)
    )


def _changed_files(before: Run, now: Run) -> str | None:
    old = {file.path: (file.state, file.format) for file in before.files}
    new = {file.path: (file.state, file.format) for file in now.files}
    for path, was in old.items():
        if new.get(path) != was:
            return f"{path} would not be read as {was[1] or 'before'} any more"
    if set(map(plan_key, before.plans)) != set(map(plan_key, now.plans)):
        return "the files would not make the same plans any more"
    return None


def _still_there(before: Run, now: Run, mended: tuple[Owned, ...]) -> str | None:
    """By place, and by rule: what is mended here may not fail elsewhere instead."""
    for key in (_placed, _ruled):
        were, are = (Counter(map(key, _failures(found))) for found in (before, now))
        for one, number in Counter(map(key, mended)).items():
            if are[one] > max(were[one] - number, 0):
                return "what it should mend fails all the same"
    return None


def _failures(found: Run) -> Iterator[Owned]:
    return (
        one for one in all_findings(found) if one.finding.outcome in {"fail", "error"}
    )


def _placed(one: Owned) -> tuple[object, ...]:
    places = tuple((at.file, at.key) for at in one.finding.places)
    return (*_ruled(one), places)


def _ruled(one: Owned) -> tuple[object, ...]:
    finding = one.finding
    return one.plan, finding.clause, finding.rule, finding.subject


def _new_failure(before: Run, now: Run) -> str | None:
    """An error or a warning that was none before; those of one rule are counted."""

    def counts(found: Run) -> Counter[tuple[object, ...]]:
        return Counter(
            (*_ruled(one), one.finding.level)
            for one in _failures(found)
            if one.finding.level in _TOLD
        )

    were = counts(before)
    for key, number in counts(now).items():
        if number > were[key]:
            return f"it would bring {key[1]} {key[2]}"
    return None


def _worse_clause(before: Run, now: Run) -> str | None:
    were, are = _worst(before), _worst(now)
    for key, (rank, outcome) in are.items():
        was = were.get(key, (0, ""))
        # What begins to apply may be open: nothing that held is in doubt by that.
        begins_open = was[1] != "pass" and outcome == "unknown"
        if rank > was[0] and not begins_open:
            return f"{key[1]} would be {outcome.replace('_', ' ')} then"
    return None


def _worst(found: Run) -> dict[tuple[PlanKey, str], tuple[int, str]]:
    """The worst outcome of each clause that must or should hold, in each plan."""
    worst: dict[tuple[PlanKey, str], tuple[int, str]] = {}
    for plan, finding in all_findings(found):
        if finding.clause_level == "may":
            continue
        key = plan, finding.clause
        rank = _RANKS[finding.outcome], finding.outcome
        worst[key] = max(worst.get(key, (0, "")), rank)
    return worst
