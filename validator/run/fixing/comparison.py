"""Whether edited files are judged better than before, and nothing is judged worse."""

from collections import Counter
from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.plan_judge import JudgedPlan
from speccheck.validator.run.run import Run

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


def objections(
    before: Run, now: Run, mended: Iterable[Owned]
) -> dict[PlanKey | None, str]:
    """Why edits are not to be kept, by the plans that speak against them.

    Under None stands what cannot be laid to one plan; nothing where they may be kept.

    Args:
        before: judged without them.
        now: judged with them.
        mended: the findings that they should make go away.
    """
    found: dict[PlanKey | None, str] = {}
    for plan, reason in (
        *_changed_files(before, now),
        *_still_there(before, now, tuple(mended)),
        *_new_failures(before, now),
        *_worse_clauses(before, now),
    ):
        found.setdefault(plan, reason)
    return found


def _changed_files(before: Run, now: Run) -> Iterator[tuple[PlanKey | None, str]]:
    keys = set(map(plan_key, before.plans))
    old = {file.path: (file.state, file.format) for file in before.files}
    new = {file.path: (file.state, file.format) for file in now.files}
    for path, was in old.items():
        if new.get(path) != was:
            reason = f"{path} would not be read as {was[1] or 'before'} any more"
            yield from ((key, reason) for key in keys if path in key)
    reason = "the files would not make the same plans any more"
    new_keys = set(map(plan_key, now.plans))
    yield from ((key, reason) for key in keys - new_keys)
    if new_keys - keys and not keys - new_keys:
        yield None, reason


def _still_there(
    before: Run, now: Run, mended: tuple[Owned, ...]
) -> Iterator[tuple[PlanKey, str]]:
    """By place, and by rule: what is mended here may not fail elsewhere instead."""
    for key in (_placed, _ruled):
        were, are = (Counter(map(key, _failures(found))) for found in (before, now))
        counts = Counter(map(key, mended))
        for one in mended:
            own = key(one)
            if are[own] > max(were[own] - counts[own], 0):
                yield one.plan, "what it should mend fails all the same"


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


def _new_failures(before: Run, now: Run) -> Iterator[tuple[PlanKey, str]]:
    """Errors and warnings that were none before; those of one rule are counted."""
    were = Counter(map(_levelled, _failures(before)))
    are = Counter(map(_levelled, _failures(now)))
    for plan, finding in _failures(now):
        key = _levelled(Owned(plan, finding))
        if finding.level in _TOLD and are[key] > were[key]:
            yield plan, f"it would bring {finding.clause} {finding.rule}"


def _levelled(one: Owned) -> tuple[object, ...]:
    return (*_ruled(one), one.finding.level)


def _worse_clauses(before: Run, now: Run) -> Iterator[tuple[PlanKey, str]]:
    were, are = _worst(before), _worst(now)
    for key, (rank, outcome) in are.items():
        was = were.get(key, (0, ""))
        # What begins to apply may be open: nothing that held is in doubt by that.
        begins_open = was[1] != "pass" and outcome == "unknown"
        if rank > was[0] and not begins_open:
            yield key[0], f"{key[1]} would be {outcome.replace('_', ' ')} then"


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
