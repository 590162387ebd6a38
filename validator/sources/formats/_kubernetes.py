"""What a job on Kubernetes is, whichever kind of object describes it.

One pod is what launchers call a node. Pods count where they ask for accelerators: a
job may have others that prepare data, or start the rest.
"""

from collections.abc import Iterable, Mapping, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import embedded_script
from speccheck.validator.sources.formats._kubernetes_hardware import state_hardware
from speccheck.validator.sources.formats._kubernetes_keys import keyed
from speccheck.validator.sources.formats._kubernetes_pods import (
    ACCELERATORS,
    LAUNCHERS,
    Container,
    Count,
    Pod,
    environment,
    scripts,
    versions,
    whole,
)
from speccheck.validator.sources.formats._kubernetes_resources import state_resources
from speccheck.validator.sources.launching import launches
from speccheck.validator.sources.mapping import (
    Convert,
    Unusable,
    derive_switch,
    integer_text,
    number,
    put,
    weak_default,
)
from speccheck.validator.sources.reader import Fact, FactSheet, Reading, Source

_NODES, _GPUS = "cluster.nodes", "cluster.gpus_per_node"
_RESTARTS = "recovery.max_restarts"
_FAMILY = "cluster.accelerator_family"


class Group(Record):
    """Equal pods of a job.

    replicas: the pods that run at the same time.
    trains: whether they hold ranks; None: when they ask for accelerators, or their
        command starts a training.
    launches: they start the training of others.
    """

    pod: Pod
    replicas: Count
    trains: bool | None = None
    launches: bool = False


class Job:
    """A job under reading: its pods that train, what they run, and the fact sheet."""

    __slots__ = ("_options", "containers", "document", "groups", "scripts", "sheet")

    def __init__(self, document: Document, groups: Iterable[Group]) -> None:
        """State the cluster of a job that has these pods."""
        self.document = document
        self.sheet = FactSheet.of(document)
        every = tuple(groups)
        self.groups = _training(document, every)
        running = (*self.groups, *(one for one in every if one.launches))
        self.containers: tuple[Container, ...] = tuple(
            container for group in running for container in group.pod.trainers()
        )
        self.scripts: tuple[Source, ...] = scripts(document, self.containers)
        self._options = "\n".join(one.text for one in self.scripts).replace("_", "-")
        _state_nodes(self.sheet, self.groups)
        _state_gpus(self.sheet, self.groups)
        for group in self.groups[:1]:
            state_hardware(self.sheet, group.pod)
            state_resources(self.sheet, group.pod)

    def put(self, leaf: str, convert: Convert, at: KeyPath, value: object) -> None:
        """State a leaf; null states nothing."""
        if value is not None:
            put(self.sheet, leaf, _open(value) or convert(value), at)

    def put_unless(
        self, flag: str, leaf: str, convert: Convert, at: KeyPath, value: object
    ) -> None:
        """State a leaf, unless the command has an option for it, which wins."""
        if flag not in self._options:
            self.put(leaf, convert, at, value)
            return
        converted = None if value is None else _open(value) or convert(value)
        if converted is not None and not isinstance(converted, Unusable):
            weak_default(self.sheet, leaf, converted, at_text(at), at)

    def state_processes(
        self, fields: Mapping[str, object], key: str, at: KeyPath
    ) -> None:
        """State the ranks of a pod, as the operator is told."""
        self.put("recovery.processes_per_node", _processes, (*at, key), fields.get(key))

    def state_deadline(self, fields: Mapping[str, object], at: KeyPath) -> None:
        """State after which time the job is ended."""
        key = "activeDeadlineSeconds"
        self.put("recovery.walltime_seconds", number, (*at, key), fields.get(key))

    def state_restarts(self, parts: Sequence[tuple[str, Count]]) -> None:
        """State the restarts of each controller, the outer first, as their sum."""
        told = [one for one in parts if one[1].paths]
        unknown = next((count for _, count in told if count.value is None), None)
        if unknown is not None:
            self.sheet.unusable(_RESTARTS, unknown.note, unknown.paths[0])
            return
        total = sum(count.value or 0 for _, count in parts)
        note = " + ".join(f"{count.value} by the {name}" for name, count in parts)
        paths = tuple(path for _, count in told for path in count.paths)
        if not paths:
            self.sheet.default(_RESTARTS, total, note)
        elif "--max-restarts" in self._options:
            weak_default(self.sheet, _RESTARTS, total, note, paths[0])
        elif len(parts) == 1:
            self.sheet.state(_RESTARTS, total, paths[0])
        else:
            self.sheet.derive(_RESTARTS, total, note, *paths)

    def state_restart_policy(self, at: KeyPath, value: object, default: str) -> None:
        """State what happens to a container that ends with an error."""
        leaf = "recovery.restart_policy"
        if isinstance(value, str):
            self.sheet.state(leaf, value, at)
        elif default:
            note = f"restartPolicy is not set: {default}"
            self.sheet.default(leaf, default, note)

    def entrypoint(self, path: KeyPath) -> None:
        """Add a command line that stands in the object itself."""
        given = environment(self.document, self.containers)
        known = {one.name: one.value for one in given}
        source = embedded_script(self.document, path, known)
        if source is not None:
            self.scripts = (*self.scripts, source)

    def reading(self, format_id: str) -> Reading:
        """All that was read."""
        if self.containers:
            note = "pods have the files of their images, and what is mounted"
            path = self.containers[0].path
            derive_switch(self.sheet, "run.in_container", note, path)
        return Reading(
            self.sheet,
            keyed(self.document, format_id, self.containers),
            variables=environment(self.document, self.containers),
            scripts=self.scripts,
            versions=tuple(versions(self.document, self.containers)),
        )


def at_text(path: KeyPath) -> str:
    """The last key of a path, for a note."""
    return f"{path[-1]} of the job"


def product(*factors: Count) -> Count:
    """Of the pods of a job and the jobs, or the like; the first may have no place."""
    unknown = next((one for one in factors if one.value is None), None)
    if unknown is not None:
        return unknown
    told = [one for one in factors if one.value != 1 and one.paths]
    if len(told) == 1 and all(one.value == 1 for one in factors if one not in told):
        return told[0]
    total = 1
    for one in factors:
        total *= one.value or 0
    paths = tuple(path for one in factors for path in one.paths)
    parts = [str(one.value) for one in factors if one.value != 1] or ["1"]
    note = f"{' x '.join(parts)} = {total}" if len(parts) > 1 else ""
    return Count(total, paths, note)


def count_at(
    fields: Mapping[str, object], key: str, at: KeyPath, default: int | None = 1
) -> Count:
    """The number under a key; its default where it is not set."""
    value = fields.get(key)
    if value is not None:
        return whole(value, (*at, key))
    if default is None:
        return Count(None, (at,), f"{key} is not set")
    return Count(default, (), f"{key} is not set: {default}")


def weakened(sheet: FactSheet, note: str) -> None:
    """Make all that was stated a default, which a job that uses it may replace."""
    sheet.facts[:] = [
        fact
        if fact.value is None
        else Fact(fact.name, fact.value, "default", fact.places, note)
        for fact in sheet.facts
        if fact.value is not None
    ]


def _processes(value: object) -> object:
    """A number; `auto` and `gpu` mean all accelerators of the pod."""
    if value in ("auto", "cpu", "gpu"):
        return Unusable(f"{value}: as many as the pod has")
    return integer_text(value)


def _open(value: object) -> Unusable | None:
    """A variable of a template, which is filled in before the object is applied."""
    if isinstance(value, str) and "$" in value:
        return Unusable(f"placeholder {value[:60]}")
    return None


def _training(document: Document, groups: Sequence[Group]) -> tuple[Group, ...]:
    found = tuple(
        one
        for one in groups
        if one.trains or (one.trains is None and one.pod.accelerators)
    )
    if found:
        return found
    return tuple(
        one
        for one in groups
        if one.trains is None
        and any(container.runs(LAUNCHERS) for container in one.pod.containers)
        and any(launches(source) for source in scripts(document, one.pod.containers))
    )


def _state_nodes(sheet: FactSheet, groups: Sequence[Group]) -> None:
    counts = [one.replicas for one in groups]
    unknown = next((one for one in counts if one.value is None), None)
    if unknown is not None:
        sheet.unusable(_NODES, unknown.note, unknown.paths[0])
        return
    total = sum(one.value or 0 for one in counts)
    if total == 0:
        return
    paths = tuple(path for one in counts for path in one.paths)
    note = counts[0].note
    if len(counts) > 1:
        note = f"{' + '.join(str(one.value) for one in counts)} pods = {total}"
    if len(paths) == 1 and not note:
        sheet.state(_NODES, total, paths[0])
    else:
        sheet.derive(_NODES, total, note, *(paths or (groups[0].pod.path,)))


def _state_gpus(sheet: FactSheet, groups: Sequence[Group]) -> None:
    asked = [(one, devices) for one in groups if (devices := one.pod.accelerators)]
    if not asked:
        return
    _, (name, first) = asked[0]
    family = ACCELERATORS[name]
    sheet.derive(_FAMILY, family, f"{name} is a device of {family}", first.paths[0])
    counts = [count for _, (_, count) in asked]
    unknown = next((one for one in counts if one.value is None), None)
    if unknown is not None:
        sheet.unusable(_GPUS, unknown.note, unknown.paths[0])
    elif len({one.value for one in counts}) > 1:
        numbers = " and ".join(str(one.value) for one in counts)
        sheet.unusable(_GPUS, f"pods of {numbers} accelerators", first.paths[0])
        _state_world(sheet, [(group.replicas, count) for group, (_, count) in asked])
    elif first.note:
        sheet.derive(_GPUS, first.value, first.note, *first.paths)
    else:
        sheet.state(_GPUS, first.value, first.paths[0])


def _state_world(sheet: FactSheet, parts: Sequence[tuple[Count, Count]]) -> None:
    """State the accelerators of pods that differ."""
    total = 0
    for pods, devices in parts:
        if pods.value is None or devices.value is None:
            return
        total += pods.value * devices.value
    terms = " + ".join(f"{pods.value} x {devices.value}" for pods, devices in parts)
    paths = [path for pods, devices in parts for path in (*pods.paths, *devices.paths)]
    sheet.derive("cluster.world_size", total, f"{terms} = {total}", *paths)
