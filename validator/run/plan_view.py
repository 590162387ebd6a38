"""The plans of files as they were worked out, leaf by leaf, with positions.

With what the models predict of them, and with the plans that `--what-if` makes of them.
"""

from collections.abc import Sequence

from speccheck.validator.changes.what_if.assignments import Assignment
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.locate import sources_of
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.judging import RunState, settled
from speccheck.validator.run.plan_dump import (
    ShownLeaf,
    ShownPlan,
    shown_leaf,
    shown_plan,
)
from speccheck.validator.run.run import read_plans
from speccheck.validator.run.what_if import WhatIf, what_if
from speccheck.validator.sources.files import FileStatus
from speccheck.validator.sources.joining.grouping import PlanFiles


class ShownChange(Record):
    """A leaf before and after a change."""

    before: ShownLeaf
    after: ShownLeaf


class ViewedPlan(Record):
    """One plan; what_if: the changed one, where it was asked for, and what differs."""

    shown: ShownPlan
    what_if: WhatIf | None = None
    changed: tuple[ShownChange, ...] = ()


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
        state.shadow = None  # what it would say of the changed plan, nobody is shown
    for statuses, groups in read_plans(request):
        for status in statuses:
            if not status.followed or status.path not in files:
                files[status.path] = status
        for group in groups:
            asked = settled(request, group)
            shown = shown_plan(group, assemble(group.files, asked.judging.context))
            plan = ViewedPlan(shown)
            if state is not None:
                plan = _changed(shown, group, state, changes)
            plans.append(plan)
    return PlanView(tuple(files.values()), tuple(plans))


def _changed(
    shown: ShownPlan, group: PlanFiles, state: RunState, changes: Sequence[Assignment]
) -> ViewedPlan:
    sources = sources_of(group.files)
    found = what_if(group, state, changes)
    pairs = (
        ShownChange(shown_leaf(one.before, sources), shown_leaf(one.after, sources))
        for one in found.values
    )
    return ViewedPlan(shown, found, tuple(pairs))
