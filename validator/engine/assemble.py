"""From the readings of one plan's files to the evidence that rules see."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from speccheck.validator.catalogue.nccl import nccl_relations, nccl_variables
from speccheck.validator.evidence.environment import (
    Environment,
    OpenEnvironment,
    Opening,
    Variable,
)
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.launch import Launches, joined
from speccheck.validator.evidence.multipath_paths import PathTables
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import (
    Cluster,
    Doubts,
    TrainingPlan,
    plan_evidence,
)
from speccheck.validator.evidence.references import References
from speccheck.validator.evidence.related_keys import RelatedKeys
from speccheck.validator.evidence.stated_keys import Conflicts, KeyedFile, StatedKeys
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import OF_FILES, Scope
from speccheck.validator.sources.context import Context, context_facts
from speccheck.validator.sources.files import ReadFile, read_file, with_reasons
from speccheck.validator.sources.joining.merge import Leaves, derive, merge
from speccheck.validator.sources.package_versions import (
    NCCL,
    Versions,
    is_named,
    stated_versions,
    with_version,
)
from speccheck.validator.sources.reader import Fact, Reading

if TYPE_CHECKING:
    from speccheck.validator.evidence.measurement.collective import CollectiveRun
    from speccheck.validator.evidence.measurement.conditions import Conditions
    from speccheck.validator.evidence.node.node import Node


# The catalogue knows what a type of machine is sold with; a node shows what is left.
_HOST_MEMORY = "cluster.host_memory_bytes"
# Of these a job may take less than the node has; its image brings its own library.
_SHARED_OUT = {
    "cluster.gpus_per_node",
    _HOST_MEMORY,
    "cluster.cpus_per_node",
    "run.nccl_version",
}


_LIVE = ("node", "measurement")
_FROM_LOGS = frozenset({"run_logs", "metrics", "run_events"})


class PlanEvidence(Evidence):
    """All evidence of one plan, and the files that it comes from.

    Attributes:
        files: all of the plan.
        plan: its leaves.
        scopes: of the rules that can judge it.
        measured: the kinds of measurements at hand.

    """

    __slots__ = ("files", "measured", "plan", "scopes")

    def __init__(
        self,
        by_kind: Mapping[type, Any],
        files: tuple[ReadFile, ...],
        scopes: tuple[Scope, ...] = OF_FILES,
        measured: tuple[str, ...] = (),
    ) -> None:
        """Take what is known of the plan of these files."""
        super().__init__(by_kind)
        self.files = files
        self.plan = self[TrainingPlan]
        self.scopes = scopes
        self.measured = measured

    def and_also(self, stated: object) -> "PlanEvidence":
        """Return the same with one more kind of evidence, which is in no file."""
        by_kind = {**self.by_kind, type(stated): stated}
        return PlanEvidence(by_kind, self.files, self.scopes, self.measured)


def assemble(files: Sequence[ReadFile], context: Context) -> PlanEvidence:
    """Merge the readings of files and the command line into one plan's evidence."""
    return evidence_of(files, merged_leaves(files, context))


def merged_leaves(files: Sequence[ReadFile], context: Context) -> Leaves:
    """Return what files and options say together, before anything follows from it."""
    nodes = [file for file in files if file.role in _LIVE]
    others = [file for file in files if file.role not in _LIVE]
    facts = [*_facts(others), *context_facts(context).facts]
    if not nodes:
        return merge(facts)
    measured = [*_facts(nodes)]
    if any(fact.name == _HOST_MEMORY for fact in measured):
        facts = [
            fact
            for fact in facts
            if fact.name != _HOST_MEMORY or fact.status != "derived"
        ]
    names = {fact.name for fact in facts if fact.value is not None}
    if names >= {"cluster.nodes", "cluster.world_size"}:
        names.add("cluster.gpus_per_node")
    taken = names & _SHARED_OUT
    return merge([*(fact for fact in measured if fact.name not in taken), *facts])


def evidence_of(files: Sequence[ReadFile], merged: Leaves) -> PlanEvidence:
    """Return evidence of a plan with these leaves, and with what follows from them."""
    readings = [reading for file in files for reading in file.readings]
    gaps = [gap for file in files for gap in file.gaps]
    leaves = with_reasons(derive(merged), gaps)
    versions = stated_versions(files)
    keyed = _keyed(readings, leaves, versions)
    environment = _environment(files)
    doubts: Doubts | None = None
    if environment.openings:
        environment = watched = OpenEnvironment.of(environment)
        doubts = watched.doubts
    plan, by_type = plan_evidence(leaves, doubts)
    by_type[Environment] = environment
    stated = by_type[StatedKeys] = StatedKeys(keyed)
    by_type[RelatedKeys] = RelatedKeys(stated, plan)
    by_type[NcclVariables] = nccl_variables()
    by_type[Conflicts] = Conflicts(tuple(_conflicts(leaves, keyed, versions)))
    by_type[References] = _references(files)
    by_type[Launches] = joined(
        launch for reading in readings for launch in reading.launches
    )
    by_type[PathTables] = PathTables(
        tuple(reading.paths for reading in readings if reading.paths is not None)
    )
    if environment.variables:
        _add_related(by_type, environment, plan)
    scopes, measured = _add_node(by_type, files, plan)
    return PlanEvidence(by_type, tuple(files), scopes, measured)


def _add_node(
    by_type: dict[type, object], files: Sequence[ReadFile], plan: TrainingPlan
) -> tuple[tuple[Scope, ...], tuple[str, ...]]:
    """Add the parts of snapshots and measurements.

    Returns the scopes of the rules that can judge, and the kinds of measurements.
    """
    nodes = [
        reading.node for file in files for reading in file.readings if reading.node
    ]
    if not nodes:
        return OF_FILES, ()
    from speccheck.validator.catalogue.nodes import (  # noqa: PLC0415 - seldom
        gpu_profiles,
        instance_profile,
        xid_catalogue,
    )
    from speccheck.validator.evidence.node.fault_codes import XidCatalogue  # noqa: PLC0415 - seldom
    from speccheck.validator.evidence.node.profile import (  # noqa: PLC0415 - seldom
        GpuProfiles,
        InstanceProfile,
    )
    from speccheck.validator.sources.joining.one_node import (  # noqa: PLC0415
        joined,
    )

    node = joined(nodes)
    by_type.update(node.by_type())
    by_type[XidCatalogue] = xid_catalogue()
    by_type[GpuProfiles] = gpu_profiles()
    by_type[InstanceProfile] = instance_profile(plan.value("cluster.instance_type"))
    add_conditions(by_type, node)
    if not _FROM_LOGS.isdisjoint(node.measured):
        _add_dictionary(by_type, has_series="metrics" in node.measured)
    scopes: list[Scope] = [] if all(file.role in _LIVE for file in files) else ["plan"]
    if any(file.role == "node" for file in files):
        scopes.append("node")
    if scopes:
        scopes.append("environment")
    return (*scopes, *(("measurement",) if node.measured else ())), node.measured


def _add_dictionary(by_type: dict[type, object], *, has_series: bool) -> None:
    """Add what metrics mean: only logs of runs have some."""
    from speccheck.validator.catalogue.metrics import metric_dictionary  # noqa: PLC0415
    from speccheck.validator.evidence.measurement.telemetry import MetricDictionary  # noqa: PLC0415
    from speccheck.validator.evidence.plan import LogsAtHand  # noqa: PLC0415 - seldom

    by_type[MetricDictionary] = metric_dictionary()
    if has_series:
        by_type[LogsAtHand] = LogsAtHand()


def add_conditions(by_type: dict[type, Any], node: "Node") -> None:
    """Add what is known of the machines that something was measured on."""
    from speccheck.validator.catalogue.hardware import published_bandwidth  # noqa: PLC0415
    from speccheck.validator.evidence.measurement.collective import (  # noqa: PLC0415
        Communicators,
        VariablesInForce,
    )
    from speccheck.validator.evidence.measurement.conditions import (  # noqa: PLC0415
        Conditions,
    )
    from speccheck.validator.evidence.node.gpu import Gpus  # noqa: PLC0415
    from speccheck.validator.evidence.node.profile import (  # noqa: PLC0415
        InstanceProfile,
    )
    from speccheck.validator.evidence.node.rdma import RdmaPorts  # noqa: PLC0415

    by_type[Conditions] = Conditions(
        cluster=by_type[Cluster],
        environment=by_type[Environment],
        instance=by_type[InstanceProfile],
        gpus=node.several(Gpus),
        ports=node.several(RdmaPorts),
        communicators=node.several(Communicators),
        in_force=node.several(VariablesInForce),
        published=published_bandwidth(),
    )


def _add_related(
    by_type: dict[type, object], environment: Environment, plan: TrainingPlan
) -> None:
    """Add related variables; few plans set any, and the module costs time to import."""
    from speccheck.validator.evidence.variable_relations import (  # noqa: PLC0415
        JobFacts,
        RelatedVariables,
    )

    job = JobFacts(environment, plan, nccl_variables())
    by_type[RelatedVariables] = RelatedVariables(job, nccl_relations())


def _facts(files: Sequence[ReadFile]) -> Iterator[Fact]:
    """Yield what the files state, less what a command line that names it replaces."""
    replacing = [
        reference
        for file in files
        for reading in file.readings
        for reference in reading.references
        if reference.replaces
    ]
    sourced = _sourced(files)
    for file in files:
        hidden = {
            leaf
            for reference in replacing
            if reference.may_mean(file.status.path)
            for leaf in reference.replaces
        }
        for reading in file.readings:
            if file.status.path in sourced and (
                reading.variables or file.role == "environment"
            ):
                continue
            for fact in reading.facts.facts:
                if fact.name not in hidden:
                    yield fact


def _keyed(
    readings: Sequence[Reading], leaves: dict[str, Value[Any]], versions: Versions
) -> tuple[KeyedFile, ...]:
    """Return the keys of the files, each with the release of its own framework.

    Adds the releases of the main framework and of NCCL to the leaves. What the command
    line or a file states as such wins over the releases of packages.
    """
    keyed = [reading.keyed for reading in readings if reading.keyed is not None]
    tables = [
        keyed_file.catalogue for keyed_file in keyed if keyed_file.catalogue is not None
    ]
    main = _value(leaves, "run.framework").value
    if not any(is_named(table, main) for table in tables):
        # A launcher is no framework of training.
        families = {
            table.family for table in tables if table.reader in {"", table.family}
        }
        main = families.pop() if len(families) == 1 else None
    for name, package in (("run.framework_version", main), ("run.nccl_version", NCCL)):
        stated = versions.get(package or "")
        if stated is not None and _value(leaves, name).status == "unknown":
            leaves[name] = stated._replace(name=name)
    value = _value(leaves, "run.framework_version")
    return tuple(
        with_version(keyed_file, value, main, versions).looked_up()
        for keyed_file in keyed
    )


def _value(leaves: Mapping[str, Value[Any]], name: str) -> Value[Any]:
    return leaves.get(name) or Value(name)


def _conflicts(
    leaves: Mapping[str, Value[Any]], keyed: Sequence[KeyedFile], versions: Versions
) -> Iterator[Value[Any]]:
    """Yield the leaves in conflict, and the frameworks whose release is in conflict."""
    yield from (leaf for leaf in leaves.values() if leaf.status == "conflict")
    main = _value(leaves, "run.framework_version")
    open_tables = (
        keyed_file.catalogue for keyed_file in keyed if keyed_file.version is None
    )
    for name in dict.fromkeys(table.family for table in open_tables if table):
        stated = versions.get(name)
        if stated and stated.status == "conflict" and stated.places != main.places:
            yield stated


def _environment(files: Sequence[ReadFile]) -> Environment:
    last: dict[str, Variable] = {}
    outside: dict[str, Variable] = {}
    hidden: list[Variable] = []
    # What nearer layers set wins over a nccl.conf (NVIDIA/nccl src/misc/param.cc).
    layers = {f.status.path for f in files if f.format == "nccl-conf"}
    taken = _set_where_taken(files)
    sourced = _sourced(files)
    for file in sorted(files, key=_layer):
        if file.status.path in sourced:
            continue
        for reading in file.readings:
            if layers:
                known = (last.get(variable.name) for variable in reading.variables)
                hidden += (
                    variable
                    for variable in known
                    if variable and variable.place.file in layers
                )
            for variable in reading.variables:
                if variable.outside:
                    outside[variable.name] = variable
                elif variable.name not in taken or not _keeps(file, variable):
                    last[variable.name] = variable
    names = tuple(file.status.path for file in files if _carries_environment(file))
    return Environment(
        tuple(last.values()),
        names,
        tuple(hidden),
        _openings(files),
        tuple(each for name, each in outside.items() if name not in last),
    )


def _references(files: Sequence[ReadFile]) -> References:
    """Return the references of all files, those that several share once."""
    parts = [file.references for file in files]
    return References(
        tuple(dict.fromkeys(place for part in parts for place in part.followed)),
        tuple(dict.fromkeys(broken for part in parts for broken in part.broken)),
    )


def _sourced(files: Sequence[ReadFile]) -> set[str]:
    """Return the scripts that others of the plan take in: they are read there."""
    return {
        source.name
        for file in files
        if file.source.is_script
        for source in file.parents
    }


def _openings(files: Sequence[ReadFile]) -> tuple[Opening, ...]:
    """Return the openings of the files, but for what a file of the plan closes."""
    here = [f"/{file.status.path}" for file in files]
    return tuple(
        dict.fromkeys(
            opening
            for file in files
            for opening in file.openings
            if not opening.target
            or not any(
                path.endswith("/" + opening.target.lstrip("./")) for path in here
            )
        )
    )


def _set_where_taken(files: Sequence[ReadFile]) -> set[str]:
    """Return the variables of the process that took the snapshot, from its shell."""
    nodes = [
        reading.node for file in files for reading in file.readings if reading.node
    ]
    if not nodes:
        return set()
    from speccheck.validator.evidence.node.host import NodeVariables  # noqa: PLC0415 - seldom

    return {
        node_variable.name.value or ""
        for node in nodes
        for node_variable in node.several(NodeVariables).shown
        if node_variable.layer.value == "environment"
    }


def _keeps(file: ReadFile, variable: Variable) -> bool:
    """Return whether a script leaves a variable as it was set before: `X=${X:-y}`."""
    name, place = variable.name, variable.place
    if variable.raw in {f"${name}", f"${{{name}}}"}:
        return True
    if place.span is None or place.file != file.source.name:
        return False
    line = "".join(file.source.text.splitlines()[place.span.line - 1 :][:1])
    before = line[: place.span.column - 1].rstrip("\"'")
    return before.endswith(tuple(f"${{{name}{sign}" for sign in (":-", "-", ":=", "=")))


def _layer(file: ReadFile) -> int:
    """Return the layer, weaker first: NCCL takes from a file what nothing else sets."""
    if file.format == "nccl-conf":
        return 0 if file.status.path.rpartition("/")[2] == "nccl.conf" else 1
    # What was set where the machine was looked at; a script sets it anew.
    return 2 if file.role == "node" else 3


def _carries_environment(file: ReadFile) -> bool:
    """Return whether a file sets variables or holds a script, or is one that does."""
    return file.source.is_script or any(
        reading.variables or reading.scripts for reading in file.readings
    )


def unmeasured_run(
    collective: str, context: Context, gpus: int, sizes: tuple[int, ...]
) -> "tuple[CollectiveRun, Conditions]":
    """Return a run of a collective that nobody made, and what is known of machines.

    Args:
        collective: all_reduce, ...
        context: type and number of machines.
        gpus: of each.
        sizes: of messages, in bytes.

    """
    from speccheck.validator.evidence.measurement.collective import (  # noqa: PLC0415
        CollectiveRuns,
    )
    from speccheck.validator.evidence.measurement.conditions import (  # noqa: PLC0415
        Conditions,
    )

    nodes = context.nodes or 1
    run = {
        "collective": collective,
        "backend": "nccl",
        "ranks": gpus * nodes,
        "nodes": nodes,
        "size_bytes": list(sizes),
    }
    text = json.dumps({"schema": "speccheck-snapshot/1", "collective_runs": [run]})
    _, files = read_file("what is expected", text=text)
    evidence = assemble(files, context)
    return evidence[CollectiveRuns].each()[0], evidence[Conditions]
