"""The plans of files as they were worked out, leaf by leaf, with positions.

With what the models predict of them, and with the plans that `--what-if` makes of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from speccheck.validator.assemble import PlanEvidence, assemble
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.training_plan import leaf_names
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.all import forecasts
from speccheck.validator.forecast.quantity import Forecast
from speccheck.validator.locate import Location, locate, sources_of
from speccheck.validator.plan_judge import PlanJudge
from speccheck.validator.plan_judges import PlanJudges, settled
from speccheck.validator.request import Request
from speccheck.validator.run import read_plans
from speccheck.validator.sources.files import FileStatus
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.source import Source
from speccheck.validator.what_if.assignments import Assignment
from speccheck.validator.what_if.view import WhatIf, what_if


class ShownLeaf(Record):
    """A leaf of a plan and where it is stated."""

    leaf: Value[Any]
    locations: tuple[Location, ...]


class ShownVariable(Record):
    """An environment variable; the value only of those that libraries read."""

    name: str
    value: str | None
    location: Location


class ShownChange(Record):
    """A leaf before and after a change."""

    before: ShownLeaf
    after: ShownLeaf


class ShownPlan(Record):
    """One plan: its files, why they are one, all its leaves, the variables they set.

    what_if: the changed plan, where one was asked for; changed: its other values.
    """

    files: tuple[FileStatus, ...]
    grouping: tuple[str, ...]
    leaves: tuple[ShownLeaf, ...]
    variables: tuple[ShownVariable, ...]
    forecasts: tuple[Forecast, ...] = ()
    what_if: WhatIf | None = None
    changed: tuple[ShownChange, ...] = ()


class PlanView(Record):
    """The files of a run and the plans that they make."""

    files: tuple[FileStatus, ...]
    plans: tuple[ShownPlan, ...]


def plan_view(request: Request, changes: Sequence[Assignment] = ()) -> PlanView:
    """Read and group the files; judge them only where something is changed.

    Raises what `run` raises.
    """
    files: dict[str, FileStatus] = {}
    plans: list[ShownPlan] = []
    # Forecasts and findings of changed plans are few: all of them are kept whole.
    judges = None
    if changes:
        judges = PlanJudges(request._replace(full=True), proposes=False)
    for statuses, groups in read_plans(request):
        for status in statuses:
            if not status.followed or status.path not in files:
                files[status.path] = status
        for group in groups:
            shown = _shown(settled(request, group), group)
            if judges is not None:
                shown = _changed(shown, group, judges.of(group), changes)
            plans.append(shown)
    return PlanView(tuple(files.values()), tuple(plans))


def _shown(request: Request, group: PlanFiles) -> ShownPlan:
    evidence = assemble(group.files, request.context)
    sources = sources_of(group.files)
    leaves = (evidence.plan.value(name) for name in leaf_names())
    return ShownPlan(
        files=tuple(dict.fromkeys(file.status for file in group.files)),
        grouping=group.reasons,
        leaves=tuple(_leaf(leaf, sources) for leaf in leaves),
        variables=tuple(_variables(evidence, group)),
        forecasts=forecasts(evidence.plan),
    )


def _changed(
    shown: ShownPlan, group: PlanFiles, judge: PlanJudge, changes: Sequence[Assignment]
) -> ShownPlan:
    sources = sources_of(group.files)
    found = what_if(group, judge, changes)
    pairs = (
        ShownChange(_leaf(one.before, sources), _leaf(one.after, sources))
        for one in found.values
    )
    return shown._replace(what_if=found, changed=tuple(pairs))


def _leaf(leaf: Value[Any], sources: dict[str, Source]) -> ShownLeaf:
    return ShownLeaf(leaf, tuple(locate(place, sources) for place in leaf.places))


def _variables(evidence: PlanEvidence, group: PlanFiles) -> Iterator[ShownVariable]:
    """The variables that the plan's files set; values of unknown ones stay hidden."""
    sources = sources_of(group.files)
    environment = evidence.by_type[Environment]
    known = evidence.by_type[NcclVariables]
    if not isinstance(environment, Environment) or not isinstance(known, NcclVariables):
        return
    for one in _sorted(environment.variables):
        is_known = known.lookup(one.name) is not None
        location = locate(one.place, sources)
        yield ShownVariable(one.name, one.value if is_known else None, location)


def _sorted(variables: Sequence[Variable]) -> list[Variable]:
    return sorted(variables, key=lambda one: one.name)
