"""Two judgements of one plan, before and after a change: what differs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.plan import TrainingPlan, leaf_names
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value

ChangeKind = Literal["appears", "vanishes", "level", "stays", "outcome"]
_RANKS = {"error": 0, "fail": 1, "unknown": 2, "pass": 3, "not_applicable": 4}
_FAILED = ("fail", "error")


class LeafChange(Record):
    """A leaf whose value differs."""

    before: Value[Any]
    after: Value[Any]


class FindingChange(Record):
    """What a rule says of the two plans; None where it says nothing of that place.

    appears, vanishes: a failure. level, stays: it fails in both, at another level, or
    with other numbers. outcome: it fails in neither, and says something else.
    """

    kind: ChangeKind
    before: Finding | None
    after: Finding | None

    @property
    def main(self) -> Finding:
        """The finding to name: the later one, if there is one."""
        found = self.after or self.before
        if found is None:
            raise ValueError(self.kind)
        return found


def changed_values(before: TrainingPlan, after: TrainingPlan) -> tuple[LeafChange, ...]:
    """The leaves whose value differs, in the order of the plan."""
    pairs = ((before.value(name), after.value(name)) for name in leaf_names())
    return tuple(
        LeafChange(old, new)
        for old, new in pairs
        if (old.value, old.alternatives) != (new.value, new.alternatives)
    )


def changed_findings(
    before: Iterable[Finding], after: Iterable[Finding]
) -> tuple[FindingChange, ...]:
    """What is said differently of each clause, in the order of the edition."""
    old, new = _by_clause(before), _by_clause(after)
    found: list[FindingChange] = []
    for clause in dict.fromkeys((*old, *new)):
        found += _of_clause(old.get(clause, []), new.get(clause, []))
    return tuple(found)


def _by_clause(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    rows: dict[str, list[Finding]] = {}
    for one in findings:
        rows.setdefault(one.clause, []).append(one)
    return rows


def _of_clause(old: list[Finding], new: list[Finding]) -> Iterator[FindingChange]:
    """The failures of each rule; where there are none, the worst outcome."""
    gone = [one for one in old if one.outcome in _FAILED]
    come = [one for one in new if one.outcome in _FAILED]
    if not gone and not come:
        left, right = _worst(old), _worst(new)
        if _outcome(left) != _outcome(right):
            yield FindingChange("outcome", left, right)
    for rule in dict.fromkeys(one.rule for one in (*gone, *come)):
        yield from _of_rule(
            [one for one in gone if one.rule == rule],
            [one for one in come if one.rule == rule],
            _worst([one for one in new if one.rule == rule]),
        )


def _of_rule(
    gone: list[Finding], come: list[Finding], instead: Finding | None
) -> Iterator[FindingChange]:
    """Failures of one rule in pairs, first those that say the same."""
    for one in tuple(gone):
        twin = next((other for other in come if other.message == one.message), None)
        if twin is not None:
            gone.remove(one)
            come.remove(twin)
            if one.level != twin.level:
                yield FindingChange("level", one, twin)
    for left, right in zip(gone, come, strict=False):
        kind: ChangeKind = "stays" if left.level == right.level else "level"
        yield FindingChange(kind, left, right)
    paired = min(len(gone), len(come))
    yield from (FindingChange("vanishes", one, instead) for one in gone[paired:])
    yield from (FindingChange("appears", None, one) for one in come[paired:])


def _worst(findings: Sequence[Finding]) -> Finding | None:
    return min(findings, key=lambda one: _RANKS[one.outcome], default=None)


def _outcome(finding: Finding | None) -> str:
    return "not_applicable" if finding is None else finding.outcome
