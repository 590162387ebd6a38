"""One plan before and after `--what-if`: values, findings, forecasts."""

from collections.abc import Sequence

from speccheck.validator.changes.what_if.assignments import Assignment
from speccheck.validator.changes.what_if.comparison import (
    FindingChange,
    LeafChange,
    changed_findings,
    changed_values,
)
from speccheck.validator.changes.what_if.overrides import overridden
from speccheck.validator.engine.assemble import evidence_of, merged_leaves
from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.all import forecasts
from speccheck.validator.forecast.quantity import Forecast
from speccheck.validator.run.judging import RunState, judge_plan
from speccheck.validator.run.run import Run
from speccheck.validator.sources.joining.grouping import PlanFiles


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
    before: Run
    after: Run
    forecasts: tuple[Forecast, ...]


def what_if(group: PlanFiles, state: RunState, changes: Sequence[Assignment]) -> WhatIf:
    """Judge a plan as its files make it and as the changes would."""
    judges = state.judges_of(group)
    merged = merged_leaves(group.files, judges.request.judging.context)
    evidence = evidence_of(group.files, merged)
    found = overridden(merged, changes)
    changed = evidence_of(group.files, found.leaves)
    before, after = (
        Run(judges.edition, judges.request.use, plan.files, (plan,))
        for plan in (judge_plan(group, state, known) for known in (evidence, changed))
    )
    old, new = (
        [located.finding for located in run.plans[0].findings]
        for run in (before, after)
    )
    return WhatIf(
        changes=tuple(changes),
        remarks=found.remarks,
        values=changed_values(evidence.plan, changed.plan),
        findings=changed_findings(old, new),
        before=before,
        after=after,
        forecasts=forecasts(changed.plan),
    )
