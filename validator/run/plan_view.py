"""The plans of files as they were worked out, leaf by leaf, with positions.

With what the models predict of them, and with the plans that `--what-if` makes of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from speccheck.validator.changes.what_if.assignments import Assignment
from speccheck.validator.changes.what_if.overrides import overridden
from speccheck.validator.engine.assemble import assemble, evidence_of, merged_leaves
from speccheck.validator.engine.locate import sources_of
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.plan import TrainingPlan, leaf_names
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.all import forecasts
from speccheck.validator.forecast.quantity import Forecast
from speccheck.validator.run.judging import RunState, judge_plan, settled
from speccheck.validator.run.plan_dump import (
    DumpedLeaf,
    PlanDump,
    dump_leaf,
    dump_plan,
)
from speccheck.validator.run.run import RunResult, read_plans
from speccheck.validator.sources.files import FileStatus
from speccheck.validator.sources.joining.grouping import PlanFiles

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
        finding = self.after or self.before
        if finding is None:
            raise ValueError(self.kind)
        return finding


def changed_values(before: TrainingPlan, after: TrainingPlan) -> tuple[LeafChange, ...]:
    """Return the leaves whose value differs, in the order of the plan."""
    pairs = ((before.value(name), after.value(name)) for name in leaf_names())
    return tuple(
        LeafChange(old, new)
        for old, new in pairs
        if (old.value, old.alternatives) != (new.value, new.alternatives)
    )


def changed_findings(
    before: Iterable[Finding], after: Iterable[Finding]
) -> tuple[FindingChange, ...]:
    """Return what is said differently of each clause, in the order of the edition."""
    old, new = _by_clause(before), _by_clause(after)
    finding_changes: list[FindingChange] = []
    for clause in dict.fromkeys((*old, *new)):
        finding_changes += _of_clause(old.get(clause, []), new.get(clause, []))
    return tuple(finding_changes)


def _by_clause(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    rows: dict[str, list[Finding]] = {}
    for finding in findings:
        rows.setdefault(finding.clause, []).append(finding)
    return rows


def _of_clause(old: list[Finding], new: list[Finding]) -> Iterator[FindingChange]:
    """Yield the failures of each rule; where there are none, the worst outcome."""
    gone = [finding for finding in old if finding.outcome in _FAILED]
    come = [finding for finding in new if finding.outcome in _FAILED]
    if not gone and not come:
        left, right = _worst(old), _worst(new)
        if _outcome(left) != _outcome(right):
            yield FindingChange("outcome", left, right)
    for rule in dict.fromkeys(finding.rule for finding in (*gone, *come)):
        yield from _of_rule(
            [finding for finding in gone if finding.rule == rule],
            [finding for finding in come if finding.rule == rule],
            _worst([finding for finding in new if finding.rule == rule]),
        )


def _of_rule(
    gone: list[Finding], come: list[Finding], instead: Finding | None
) -> Iterator[FindingChange]:
    """Yield failures of one rule in pairs, first those that say the same."""
    for finding in tuple(gone):
        twin = next((other for other in come if other.message == finding.message), None)
        if twin is not None:
            gone.remove(finding)
            come.remove(twin)
            if finding.level != twin.level:
                yield FindingChange("level", finding, twin)
    for left, right in zip(gone, come, strict=False):
        kind: ChangeKind = "stays" if left.level == right.level else "level"
        yield FindingChange(kind, left, right)
    paired = min(len(gone), len(come))
    yield from (
        FindingChange("vanishes", finding, instead) for finding in gone[paired:]
    )
    yield from (FindingChange("appears", None, finding) for finding in come[paired:])


def _worst(findings: Sequence[Finding]) -> Finding | None:
    return min(findings, key=lambda finding: _RANKS[finding.outcome], default=None)


def _outcome(finding: Finding | None) -> str:
    return "not_applicable" if finding is None else finding.outcome


class WhatIf(Record):
    """A changed plan beside the one that the files make.

    Attributes:
        changes: what the user set.
        remarks: what was kept or given up for it.
        values: the leaves that differ.
        findings: what is judged differently.
        before: the run of the plan of the files alone, for its verdict.
        after: the run of the changed plan.
        forecasts: of the changed plan.

    """

    changes: tuple[Assignment, ...]
    remarks: tuple[str, ...]
    values: tuple[LeafChange, ...]
    findings: tuple[FindingChange, ...]
    before: RunResult
    after: RunResult
    forecasts: tuple[Forecast, ...]


def what_if(group: PlanFiles, state: RunState, changes: Sequence[Assignment]) -> WhatIf:
    """Judge a plan as its files make it and as the changes would."""
    judges = state.judges_of(group)
    merged = merged_leaves(group.files, judges.request.judging.context)
    evidence = evidence_of(group.files, merged)
    result = overridden(merged, changes)
    changed = evidence_of(group.files, result.leaves)
    before, after = (
        RunResult(judges.edition, judges.request.use, plan.files, (plan,))
        for plan in (judge_plan(group, state, known) for known in (evidence, changed))
    )
    old, new = (
        [located.finding for located in run.plans[0].findings]
        for run in (before, after)
    )
    return WhatIf(
        changes=tuple(changes),
        remarks=result.remarks,
        values=changed_values(evidence.plan, changed.plan),
        findings=changed_findings(old, new),
        before=before,
        after=after,
        forecasts=forecasts(changed.plan),
    )


class DumpedChange(Record):
    """A leaf before and after a change."""

    before: DumpedLeaf
    after: DumpedLeaf


class ViewedPlan(Record):
    """One plan; what_if: the changed one, where there is one, and what differs."""

    shown: PlanDump
    what_if: WhatIf | None = None
    changed: tuple[DumpedChange, ...] = ()


class PlanView(Record):
    """The files of a run and the plans that they make."""

    files: tuple[FileStatus, ...]
    plans: tuple[ViewedPlan, ...]


def plan_view(request: Request, changes: Sequence[Assignment] = ()) -> PlanView:
    """Read and group the files; judge them only where something is changed.

    Raises what `run` raises.
    """
    files: dict[str, FileStatus] = {}
    plans: list[ViewedPlan] = []
    # Forecasts and findings of changed plans are few: all of them are kept whole.
    state = None
    if changes:
        state = RunState(request._replace(full=True), proposes=False)
    for statuses, groups in read_plans(request):
        for status in statuses:
            if not status.followed or status.path not in files:
                files[status.path] = status
        for group in groups:
            result = settled(request, group)
            shown = dump_plan(group, assemble(group.files, result.judging.context))
            plan = ViewedPlan(shown)
            if state is not None:
                plan = _changed(shown, group, state, changes)
            plans.append(plan)
    return PlanView(tuple(files.values()), tuple(plans))


def _changed(
    shown: PlanDump, group: PlanFiles, state: RunState, changes: Sequence[Assignment]
) -> ViewedPlan:
    sources = sources_of(group.files)
    result = what_if(group, state, changes)
    pairs = (
        DumpedChange(dump_leaf(value.before, sources), dump_leaf(value.after, sources))
        for value in result.values
    )
    return ViewedPlan(shown, result, tuple(pairs))
