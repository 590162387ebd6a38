"""One plan as it was worked out, leaf by leaf, with positions."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from speccheck.validator.engine.assemble import PlanEvidence
from speccheck.validator.engine.locate import Location, locate, sources_of
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.all import forecasts
from speccheck.validator.forecast.quantity import Forecast
from speccheck.validator.sources.files import FileStatus
from speccheck.validator.sources.joining.grouping import PlanFiles
from speccheck.validator.sources.reader import Source

if TYPE_CHECKING:
    from speccheck.validator.node.machine_layout import MachineLayout


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
    """One plan: its files, why they are one, all its leaves, the variables they set.

    machine: how the parts of its machine are joined; None without a snapshot.
    """

    files: tuple[FileStatus, ...]
    grouping: tuple[str, ...]
    leaves: tuple[ShownLeaf, ...]
    variables: tuple[ShownVariable, ...]
    forecasts: tuple[Forecast, ...] = ()
    machine: "MachineLayout | None" = None


def shown_plan(group: PlanFiles, evidence: PlanEvidence) -> ShownPlan:
    """Return all leaves, variables and forecasts of a plan."""
    sources = sources_of(group.files)
    leaves = (evidence.plan.value(name) for name in leaf_names())
    return ShownPlan(
        files=tuple(dict.fromkeys(file.status for file in group.files)),
        grouping=group.reasons,
        leaves=tuple(shown_leaf(leaf, sources) for leaf in leaves),
        variables=tuple(_variables(evidence, group)),
        forecasts=forecasts(evidence.plan),
        machine=_machine(evidence),
    )


def _machine(evidence: PlanEvidence) -> "MachineLayout | None":
    if "node" not in evidence.scopes:
        return None
    from speccheck.validator.node.machine_layout import (  # noqa: PLC0415 - of snapshots
        machine_layout,
    )

    return machine_layout(evidence)


def shown_leaf(leaf: Value[Any], sources: dict[str, Source]) -> ShownLeaf:
    """Return a leaf with the positions of its places."""
    return ShownLeaf(leaf, tuple(locate(place, sources) for place in leaf.places))


def _variables(evidence: PlanEvidence, group: PlanFiles) -> Iterator[ShownVariable]:
    """The variables that the plan's files set; values of unknown ones stay hidden."""
    sources = sources_of(group.files)
    environment, known = evidence[Environment], evidence[NcclVariables]
    for variable in _sorted(environment.variables):
        is_known = known.lookup(variable.name) is not None
        location = locate(variable.place, sources)
        yield ShownVariable(
            variable.name, variable.value if is_known else None, location
        )


def _sorted(variables: Sequence[Variable]) -> list[Variable]:
    return sorted(variables, key=lambda variable: variable.name)
