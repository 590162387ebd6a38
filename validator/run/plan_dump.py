"""One plan as it was worked out, leaf by leaf, with positions."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from speccheck.validator.engine.assemble import PlanEvidence
from speccheck.validator.engine.locate import Location, locate, sources_of
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.launch import Launches
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


class DumpedLeaf(Record):
    """A leaf of a plan and where it is stated."""

    leaf: Value[Any]
    locations: tuple[Location, ...]


class DumpedVariable(Record):
    """An environment variable; the value only of those that libraries read."""

    name: str
    value: str | None
    location: Location


class DumpedLaunch(Record):
    """A command that starts a training, in words, and the leaves of its account."""

    text: str
    launcher: DumpedLeaf
    account: tuple[DumpedLeaf, ...]


class PlanDump(Record):
    """One plan: its files, why they are one, all its leaves, the variables they set.

    launches: the commands that start it, each with its account.

    machine: how the parts of its machine are joined; None without a snapshot.
    """

    files: tuple[FileStatus, ...]
    grouping: tuple[str, ...]
    leaves: tuple[DumpedLeaf, ...]
    variables: tuple[DumpedVariable, ...]
    forecasts: tuple[Forecast, ...] = ()
    launches: tuple[DumpedLaunch, ...] = ()
    machine: "MachineLayout | None" = None


def dump_plan(group: PlanFiles, evidence: PlanEvidence) -> PlanDump:
    """Return all leaves, variables and forecasts of a plan."""
    sources = sources_of(group.files)
    leaves = (evidence.plan.value(name) for name in leaf_names())
    return PlanDump(
        files=tuple(dict.fromkeys(file.status for file in group.files)),
        grouping=group.reasons,
        leaves=tuple(dump_leaf(leaf, sources) for leaf in leaves),
        variables=tuple(_variables(evidence, group)),
        forecasts=forecasts(evidence.plan),
        launches=tuple(
            DumpedLaunch(
                launch.in_words(),
                dump_leaf(launch.launcher, sources),
                tuple(dump_leaf(value, sources) for value in launch.account()),
            )
            for launch in evidence[Launches].launches
            if launch.account()
        ),
        machine=_machine(evidence),
    )


def _machine(evidence: PlanEvidence) -> "MachineLayout | None":
    if "node" not in evidence.scopes:
        return None
    from speccheck.validator.node.machine_layout import (  # noqa: PLC0415 - of snapshots
        machine_layout,
    )

    return machine_layout(evidence)


def dump_leaf(leaf: Value[Any], sources: dict[str, Source]) -> DumpedLeaf:
    """Return a leaf with the positions of its places."""
    return DumpedLeaf(leaf, tuple(locate(place, sources) for place in leaf.places))


def _variables(evidence: PlanEvidence, group: PlanFiles) -> Iterator[DumpedVariable]:
    """Yield the variables that the plan's files set.

    Values of unknown ones stay hidden.
    """
    sources = sources_of(group.files)
    environment, known = evidence[Environment], evidence[NcclVariables]
    for variable in _sorted(environment.variables):
        is_known = known.lookup(variable.name) is not None
        location = locate(variable.place, sources)
        yield DumpedVariable(
            variable.name, variable.value if is_known else None, location
        )


def _sorted(variables: Sequence[Variable]) -> list[Variable]:
    return sorted(variables, key=lambda variable: variable.name)
