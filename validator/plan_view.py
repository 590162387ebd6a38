"""The plans of files as they were worked out, leaf by leaf, with positions."""

from collections.abc import Iterator, Sequence
from typing import Any

from speccheck.validator.assemble import PlanEvidence, assemble
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.training_plan import leaf_names
from speccheck.validator.evidence.value import Value
from speccheck.validator.run import Location, Request, locate, read_plans, sources_of
from speccheck.validator.sources.files import FileStatus
from speccheck.validator.sources.joining.grouping import PlanFiles


class ShownLeaf(Record):
    """A leaf of a plan and where it is stated."""

    leaf: Value[Any]
    locations: tuple[Location, ...]


class ShownVariable(Record):
    """An environment variable; the value only of those that libraries read."""

    name: str
    value: str | None
    location: Location


class ShownPlan(Record):
    """One plan: its files, why they are one, all its leaves, the variables they set."""

    files: tuple[FileStatus, ...]
    grouping: tuple[str, ...]
    leaves: tuple[ShownLeaf, ...]
    variables: tuple[ShownVariable, ...]


class PlanView(Record):
    """The files of a run and the plans that they make."""

    files: tuple[FileStatus, ...]
    plans: tuple[ShownPlan, ...]


def plan_view(request: Request) -> PlanView:
    """Read and group the files, judge nothing; raises what `run` raises."""
    files: dict[str, FileStatus] = {}
    plans: list[ShownPlan] = []
    for statuses, groups in read_plans(request):
        for status in statuses:
            if not status.followed or status.path not in files:
                files[status.path] = status
        plans.extend(_shown(request, group) for group in groups)
    return PlanView(tuple(files.values()), tuple(plans))


def _shown(request: Request, group: PlanFiles) -> ShownPlan:
    evidence = assemble(group.files, request.context)
    return ShownPlan(
        files=tuple(dict.fromkeys(file.status for file in group.files)),
        grouping=group.reasons,
        leaves=tuple(_leaves(evidence, group)),
        variables=tuple(_variables(evidence, group)),
    )


def _leaves(evidence: PlanEvidence, group: PlanFiles) -> Iterator[ShownLeaf]:
    sources = sources_of(group.files)
    for name in leaf_names():
        leaf = evidence.plan.value(name)
        locations = tuple(locate(place, sources) for place in leaf.places)
        yield ShownLeaf(leaf, locations)


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
