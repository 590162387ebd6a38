"""Pods of Kubernetes, and what a job of them is, whichever kind of object describes it.

One pod is what launchers call a node. Pods count where they ask for accelerators: a
job may have others that prepare data, or start the rest. The key tables hold a part of
the fields: the API server itself names unknown ones before anything starts.
Sources: Kubernetes core/v1 (PodSpec, Volume, VolumeMount, SecurityContext, Quantity);
containerd and Docker mount /dev/shm with 64 MiB where the pod mounts nothing there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from speccheck.validator.catalogue.containers import engines
from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.environment import Opening, Variable
from speccheck.validator.evidence.framework_keys import FrameworkKeys, StatedVersion
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, LoadedAs, StatedKey
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.context import accelerator_facts, instance_facts
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import (
    embedded_command,
    embedded_script,
    value_at,
)
from speccheck.validator.sources.formats._config_maps import (
    TakenVariables,
    taken_variables,
)
from speccheck.validator.sources.launching import launches
from speccheck.validator.sources.mapping import (
    Convert,
    Unusable,
    derive_switch,
    integer_text,
    items,
    number,
    parse_number,
    put,
    section,
    weak_default,
)
from speccheck.validator.sources.pinned_versions import versions_of_image
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reading,
    Source,
    keyed_file,
)

if TYPE_CHECKING:
    from speccheck.validator.catalogue.hardware import Accelerator

# Extended resources of device plugins, and the family of the accelerator that they
# hand out. Shares of a GPU (nvidia.com/mig-1g.10gb) are none.
ACCELERATORS = {
    "nvidia.com/gpu": "nvidia",
    "amd.com/gpu": "amd",
    "google.com/tpu": "tpu",
    "habana.ai/gaudi": "gaudi",
    "aws.amazon.com/neuron": "trainium",
}
# A command that starts ranks holds one of these words.
LAUNCHERS = (
    "accelerate",
    "deepspeed",
    "ft_launcher",
    "mpiexec",
    "mpirun",
    "torch.distributed",
    "torchrun",
)
_SHARED = "/dev/shm"  # noqa: S108 - compared with, never opened
_VOLUME, _BYTES = "container.shared_memory_volume", "container.shared_memory_bytes"
_UNITS = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
# Kinds of volumes that are memory or disk of the host, by their key in a volume.
_KINDS = {"hostPath": "host", "emptyDir": "disk"}
_LOCKING = frozenset({"IPC_LOCK", "SYS_RESOURCE", "ALL"})
_EFA = "/efa"  # its images of nodes lift the limit of locked memory
_FABRIC_WORDS = ("rdma", "hca", "sriov", "infiniband", "roce", _EFA)

_GPUS = "cluster.gpus_per_node"
# Labels of nodes that name the machine type, or the accelerator.
_INSTANCE_LABELS = (
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "sagemaker.amazonaws.com/compute-type",
)
_ACCELERATOR_LABELS = (
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "nvidia.com/gpu.product",
    "karpenter.k8s.aws/instance-gpu-name",
    "gpu.nvidia.com/class",
)
# GKE adds how the chips are sold to the name of a TPU: tpu-v6e-slice.
_TPU_SUFFIXES = ("-podslice", "-slice", "-device")
_EFA_DEVICE = "vpc.amazonaws.com/efa"
_REQUIRED = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)
_REPLACED = lazy_pattern(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$")
_NODES = "cluster.nodes"
_RESTARTS = "recovery.max_restarts"
_FAMILY = "cluster.accelerator_family"


class ReplicaCount(Record):
    """A number of pods or devices: None with the reason where it is not known."""

    value: int | None
    paths: tuple[KeyPath, ...] = ()
    note: str = ""


class PodContainer(Record):
    """One container of a pod: its fields, where they stand, and its resources' key."""

    path: KeyPath
    fields: Mapping[str, object]
    resources: str = "resources"

    def runs(self, names: Iterable[str]) -> bool:
        """Return whether one of these texts stands in its command."""
        command = " ".join(
            word
            for key in ("command", "args")
            for word in items(self.fields.get(key))
            if isinstance(word, str)
        )
        return any(name in command for name in names)

    @property
    def accelerators(self) -> tuple[str, ReplicaCount] | None:
        """The accelerators that it asks for, by resource name; None for none."""
        # Kubernetes sets the request of a device to its limit.
        for kind in ("limits", "requests"):
            result = section(self.fields, self.resources, kind)
            for name in ACCELERATORS:
                if name in result:
                    at = (*self.path, self.resources, kind, name)
                    count = whole(result[name], at)
                    return None if count.value == 0 else (name, count)
        return None


class Pod(Record):
    """A pod template: where its spec lies, and its containers."""

    path: KeyPath
    spec: Mapping[str, object]
    containers: tuple[PodContainer, ...]

    @property
    def accelerators(self) -> tuple[str, ReplicaCount] | None:
        """The accelerators of all containers; None when none asks for any."""
        text_lists = [texts for each in self.containers if (texts := each.accelerators)]
        if not text_lists:
            return None
        name, first = text_lists[0]
        if len(text_lists) == 1:
            return name, first
        counts = [count.value for _, count in text_lists]
        paths = tuple(path for _, count in text_lists for path in count.paths)
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return name, next(count for _, count in text_lists if count.value is None)
        parts = " + ".join(str(item) for item in known)
        return name, ReplicaCount(sum(known), paths, f"containers of {parts}")

    def trainers(self) -> tuple[PodContainer, ...]:
        """Return the containers with accelerators; all where none asks for any."""
        with_devices = tuple(
            container for container in self.containers if container.accelerators
        )
        return with_devices or self.containers


class ReplicaGroup(Record):
    """Equal pods of a job.

    replicas: the pods that run at the same time.
    trains: whether they hold ranks; None: when they ask for accelerators, or their
        command starts a training.
    launches: they start the training of others.
    """

    pod: Pod
    replicas: ReplicaCount
    trains: bool | None = None
    launches: bool = False


class KubernetesJob:
    """A job under reading: its pods that train, what they run, and the fact sheet."""

    __slots__ = ("_options", "containers", "document", "groups", "scripts", "sheet")

    def __init__(self, document: Document, groups: Iterable[ReplicaGroup]) -> None:
        """State the cluster of a job that has these pods."""
        self.document = document
        self.sheet = FactSheet.of(document)
        every = tuple(groups)
        self.groups = _training(document, every)
        running = (*self.groups, *(group for group in every if group.launches))
        self.containers: tuple[PodContainer, ...] = tuple(
            container for group in running for container in group.pod.trainers()
        )
        self.scripts: tuple[Source, ...] = scripts(document, self.containers)
        self._options = "\n".join(script.text for script in self.scripts).replace(
            "_", "-"
        )
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
        """State the ranks of a pod, as the operator has them."""
        self.put("recovery.processes_per_node", _processes, (*at, key), fields.get(key))

    def state_deadline(self, fields: Mapping[str, object], at: KeyPath) -> None:
        """State after which time the job is ended."""
        key = "activeDeadlineSeconds"
        self.put("recovery.walltime_seconds", number, (*at, key), fields.get(key))

    def state_restarts(self, parts: Sequence[tuple[str, ReplicaCount]]) -> None:
        """State the restarts of each controller, the outer first, as their sum."""
        stated = [part for part in parts if part[1].paths]
        unknown = next((count for _, count in stated if count.value is None), None)
        if unknown is not None:
            self.sheet.unusable(_RESTARTS, unknown.note, unknown.paths[0])
            return
        total = sum(count.value or 0 for _, count in parts)
        note = " + ".join(f"{count.value} by the {name}" for name, count in parts)
        paths = tuple(path for _, count in stated for path in count.paths)
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
        known = {variable.name: variable.value for variable in given}
        source = embedded_script(self.document, path, known)
        if source is not None:
            self.scripts = (*self.scripts, source)

    def reading(self, format_id: str) -> Reading:
        """Return all that was read."""
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
            openings=openings(self.document, self.containers),
        )


def at_text(path: KeyPath) -> str:
    """Return the last key of a path, for a note."""
    return f"{path[-1]} of the job"


def product(*factors: ReplicaCount) -> ReplicaCount:
    """Return the product of pods of a job and jobs; the first may have no place."""
    unknown = next((factor for factor in factors if factor.value is None), None)
    if unknown is not None:
        return unknown
    stated = [factor for factor in factors if factor.value != 1 and factor.paths]
    if len(stated) == 1 and all(
        factor.value == 1 for factor in factors if factor not in stated
    ):
        return stated[0]
    total = 1
    for factor in factors:
        total *= factor.value or 0
    paths = tuple(path for factor in factors for path in factor.paths)
    parts = [str(factor.value) for factor in factors if factor.value != 1] or ["1"]
    note = f"{' x '.join(parts)} = {total}" if len(parts) > 1 else ""
    return ReplicaCount(total, paths, note)


def count_at(
    fields: Mapping[str, object], key: str, at: KeyPath, default: int | None = 1
) -> ReplicaCount:
    """Return the number under a key; its default where it is not set."""
    value = fields.get(key)
    if value is not None:
        return whole(value, (*at, key))
    if default is None:
        return ReplicaCount(None, (at,), f"{key} is not set")
    return ReplicaCount(default, (), f"{key} is not set: {default}")


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
    """Return a number; `auto` and `gpu` mean all accelerators of the pod."""
    if value in ("auto", "cpu", "gpu"):
        return Unusable(f"{value}: as many as the pod has")
    return integer_text(value)


def _open(value: object) -> Unusable | None:
    """Return a template's variable, filled in before the object is applied."""
    if isinstance(value, str) and "$" in value:
        return Unusable(f"placeholder {value[:60]}")
    return None


def _training(
    document: Document, groups: Sequence[ReplicaGroup]
) -> tuple[ReplicaGroup, ...]:
    result = tuple(
        group
        for group in groups
        if group.trains or (group.trains is None and group.pod.accelerators)
    )
    if result:
        return result
    return tuple(
        group
        for group in groups
        if group.trains is None
        and any(container.runs(LAUNCHERS) for container in group.pod.containers)
        and any(launches(source) for source in scripts(document, group.pod.containers))
    )


def _state_nodes(sheet: FactSheet, groups: Sequence[ReplicaGroup]) -> None:
    counts = [group.replicas for group in groups]
    unknown = next((count for count in counts if count.value is None), None)
    if unknown is not None:
        sheet.unusable(_NODES, unknown.note, unknown.paths[0])
        return
    total = sum(count.value or 0 for count in counts)
    if total == 0:
        return
    paths = tuple(path for count in counts for path in count.paths)
    note = counts[0].note
    if len(counts) > 1:
        note = f"{' + '.join(str(count.value) for count in counts)} pods = {total}"
    if len(paths) == 1 and not note:
        sheet.state(_NODES, total, paths[0])
    else:
        sheet.derive(_NODES, total, note, *(paths or (groups[0].pod.path,)))


def _state_gpus(sheet: FactSheet, groups: Sequence[ReplicaGroup]) -> None:
    group_lists = [
        (group, devices) for group in groups if (devices := group.pod.accelerators)
    ]
    if not group_lists:
        return
    _, (name, first) = group_lists[0]
    family = ACCELERATORS[name]
    sheet.derive(_FAMILY, family, f"{name} is a device of {family}", first.paths[0])
    counts = [count for _, (_, count) in group_lists]
    unknown = next((count for count in counts if count.value is None), None)
    if unknown is not None:
        sheet.unusable(_GPUS, unknown.note, unknown.paths[0])
    elif len({count.value for count in counts}) > 1:
        numbers = " and ".join(str(count.value) for count in counts)
        sheet.unusable(_GPUS, f"pods of {numbers} accelerators", first.paths[0])
        _state_world(
            sheet, [(group.replicas, count) for group, (_, count) in group_lists]
        )
    elif first.note:
        sheet.derive(_GPUS, first.value, first.note, *first.paths)
    else:
        sheet.state(_GPUS, first.value, first.paths[0])


def _state_world(
    sheet: FactSheet, parts: Sequence[tuple[ReplicaCount, ReplicaCount]]
) -> None:
    """State the accelerators of pods that differ."""
    total = 0
    for pods, devices in parts:
        if pods.value is None or devices.value is None:
            return
        total += pods.value * devices.value
    terms = " + ".join(f"{pods.value} x {devices.value}" for pods, devices in parts)
    paths = [path for pods, devices in parts for path in (*pods.paths, *devices.paths)]
    sheet.derive("cluster.world_size", total, f"{terms} = {total}", *paths)


def fields_at(document: Document, path: KeyPath) -> Mapping[str, object]:
    """Return the mapping at a path; empty for anything else."""
    return section(value_at(document.data, path))


def pod_at(document: Document, path: KeyPath) -> Pod:
    """Return the pod whose spec lies at a path; empty when nothing does."""
    spec = fields_at(document, path)
    containers = tuple(
        PodContainer((*path, "containers", index), section(item))
        for index, item in enumerate(items(spec.get("containers")))
    )
    return Pod(path, spec, containers)


def whole(value: object, at: KeyPath) -> ReplicaCount:
    """Return a number of pods or devices, as text where it is a quantity."""
    if isinstance(value, str) and "$" in value:
        return ReplicaCount(None, (at,), f"placeholder {value[:60]}")
    number = integer_text(value)
    if isinstance(number, int) and number >= 0:
        return ReplicaCount(number, (at,))
    reason = number.reason if isinstance(number, Unusable) else f"{number} is below 0"
    return ReplicaCount(None, (at,), reason)


def environment(
    document: Document, containers: Sequence[PodContainer]
) -> tuple[Variable, ...]:
    """Return the variables of the containers; one that differs has no value."""
    result: dict[str, list[Variable]] = {}
    for container in containers:
        own = {section(item).get("name") for item in items(container.fields.get("env"))}
        for variable in _taken(document, container).variables:
            if variable.name not in own:
                result.setdefault(variable.name, []).append(variable)
        for index, item in enumerate(items(container.fields.get("env"))):
            outcome = section(item)
            name = outcome.get("name")
            if not isinstance(name, str) or not name:
                continue
            at = (*container.path, "env", index)
            result.setdefault(name, []).append(_variable(document, name, outcome, at))
    return tuple(_shared(parts, len(containers)) for parts in result.values())


def _taken(document: Document, container: PodContainer) -> TakenVariables:
    """Return what a container takes from ConfigMaps; most take nothing."""
    if "envFrom" not in container.fields:
        return TakenVariables()
    return taken_variables(document, container.path, container.fields)


def openings(
    document: Document, containers: Sequence[PodContainer]
) -> tuple[Opening, ...]:
    """Return through what more variables may be set than the containers show."""
    return tuple(
        opening
        for container in containers
        for opening in _taken(document, container).openings
    )


def _shared(parts: Sequence[Variable], containers: int) -> Variable:
    """Return a variable of all pods, with its parts if they say something together."""
    first = parts[0]
    if any(part.value != first.value for part in parts):
        return first._replace(value=None, parts=(*parts,))
    is_whole = len(parts) == containers > 1
    return first._replace(parts=(*parts,)) if is_whole else first


def _variable(
    document: Document, name: str, item: Mapping[str, object], at: KeyPath
) -> Variable:
    """Return an entry of `env`; a value from elsewhere, or a template's, is unknown."""
    key = "value" if "value" in item or "valueFrom" not in item else "valueFrom"
    value = item.get("value") if key in item else ""
    place = document.place((*at, key) if key in item else (*at, "name"))
    text: str | None = None
    if isinstance(value, str) and key == "value" and "$" not in value:
        text = value
    elif isinstance(value, bool | int | float):
        text = str(value).lower()
    raw = value if isinstance(value, str) else ""
    return Variable(name, text, place._replace(key=name), raw)


def scripts(
    document: Document, containers: Sequence[PodContainer]
) -> tuple[Source, ...]:
    """Return what the containers run, each text once: most pods run the same."""
    result: dict[str, Source] = {}
    for container in containers:
        known = {
            variable.name: variable.value
            for variable in environment(document, (container,))
        }
        paths = ((*container.path, "command"), (*container.path, "args"))
        source = embedded_command(document, *paths, known=known)
        if source is not None:
            result.setdefault(source.text.lstrip("\n"), source)
    return tuple(result.values())


def versions(
    document: Document, containers: Sequence[PodContainer]
) -> Iterator[StatedVersion]:
    """Return the releases that the images of the containers name."""
    seen: set[object] = set()
    for container in containers:
        image = container.fields.get("image")
        if isinstance(image, str) and image not in seen:
            seen.add(image)
            place = document.place((*container.path, "image"))
            for package, release in versions_of_image(image):
                yield StatedVersion(package, release, place)


def keyed(
    document: Document, format_id: str, containers: Sequence[PodContainer]
) -> KeyedFile:
    """Return the keys without the containers' variables, which are evidence already.

    Their names are left, and values that the key table has a row for. Nor with `$NAME`:
    manifests go through envsubst before they are applied, and what such a text leaves
    open is unknown.
    """
    catalogue = keys_of_format(format_id)
    whole = keyed_file(document, format_id, catalogue)
    variables = tuple((*container.path, "env") for container in containers)
    keys = tuple(
        key
        for key in whole.keys
        if not _is_filled_in(key)
        and (
            key.path[-1] == "name"
            or not _is_below(key.path, variables)
            or _has_row_of_value(key.path, catalogue)
        )
    )
    mistyped = tuple(_mistyped(document, containers))
    return whole._replace(keys=keys, loaded_as=mistyped)


def _has_row_of_value(path: KeyPath, catalogue: FrameworkKeys | None) -> bool:
    """Return whether a table speaks of the value of a variable, by a row of its own."""
    row = catalogue.lookup(path) if catalogue is not None else None
    return row is not None and row.path.endswith("env[].value")


def _is_filled_in(key: StatedKey) -> bool:
    """Return whether another tool fills in a value: `$NAME`, `PLACEHOLDER_NODES`."""
    value = key.value
    if not isinstance(value, str):
        return False
    is_variable = "env" in key.path
    return value.startswith("$") or bool(not is_variable and _REPLACED.match(value))


def _is_below(path: KeyPath, parents: Sequence[KeyPath]) -> bool:
    return "env" in path and any(path[: len(parent)] == parent for parent in parents)


def _mistyped(
    document: Document, containers: Sequence[PodContainer]
) -> Iterator[LoadedAs]:
    """Yield the variables without quotes; EnvVar.value of core/v1 is a string."""
    for container in containers:
        for index, item in enumerate(items(container.fields.get("env"))):
            value = section(item).get("value")
            if isinstance(value, bool | int | float):
                path = (*container.path, "env", index, "value")
                raw = document.raw(path)
                written = raw.text if raw is not None else str(value).lower()
                kind = "true or false" if isinstance(value, bool) else "a number"
                place = document.place(path)
                name = str(section(item).get("name"))[:60]
                expected = "a text in quotes"
                yield LoadedAs(name, written, kind, expected, place, fatal=True)


def state_resources(sheet: FactSheet, pod: Pod) -> None:
    """State what the container that trains gets, where the pod is all there."""
    if not pod.spec or not pod.containers:
        return
    container = pod.trainers()[0]
    engine = engines()["kubernetes"]
    sheet.derive("container.engine", engine.id, "a pod", container.path)
    _state_namespaces(sheet, pod, container)
    _state_shared_memory(sheet, pod, container)
    _state_processors(sheet, pod.trainers())
    _state_fabric_device(sheet, pod, container)


def _state_namespaces(sheet: FactSheet, pod: Pod, container: PodContainer) -> None:
    """Return the image, and what the pod shares with its node."""
    image = container.fields.get("image")
    if isinstance(image, str) and "$" not in image:
        sheet.state("container.image", image, (*container.path, "image"))
    engine = engines()["kubernetes"]
    shared = (("hostIPC", "container.ipc"), ("hostNetwork", "container.network"))
    for key, leaf in shared:
        value = pod.spec.get(key)
        if value is True:
            sheet.derive(leaf, "host", key, (*pod.path, key))
        elif value in {None, False}:
            setting = leaf.partition(".")[2]
            sheet.default(leaf, engine.default(setting), f"{key} is not set")
    accelerators = container.accelerators
    if accelerators is not None and accelerators[1].paths:
        name, count = accelerators
        sheet.derive("container.accelerators", name, "asked for", *count.paths)
    mounts = [
        path
        for item in items(container.fields.get("volumeMounts"))
        if isinstance(path := section(item).get("mountPath"), str)
    ]
    if mounts:
        at = (*container.path, "volumeMounts")
        sheet.derive("container.mounts", tuple(mounts), f"{len(mounts)} mounts", at)
    added = section(container.fields, "securityContext", "capabilities").get("add")
    names = tuple(item for item in items(added) if isinstance(item, str))
    if names:
        at = (*container.path, "securityContext", "capabilities", "add")
        sheet.derive("container.capabilities", names, "added", at)


def quantity(value: object) -> float | None:
    """Return the number of a quantity: `16Gi`, `500m`, 8; None for a placeholder."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    for suffix, factor in _UNITS.items():
        if value.endswith(suffix):
            number = parse_number(value.removesuffix(suffix))
            return None if number is None else number * factor
    return parse_number(value)


def _state_shared_memory(sheet: FactSheet, pod: Pod, container: PodContainer) -> None:
    """State the volume at /dev/shm and its size.

    Without one the runtime's default holds.
    """
    mounts = items(container.fields.get("volumeMounts"))
    for index, item in enumerate(mounts):
        mount = section(item)
        path = mount.get("mountPath")
        if isinstance(path, str) and path.rstrip("/") == _SHARED:
            at = (*container.path, "volumeMounts", index, "mountPath")
            _state_volume(sheet, pod, mount.get("name"), at)
            return
    if pod.spec.get("hostIPC") is True:
        sheet.derive(_VOLUME, "host", "hostIPC shares that of the node", _ipc(pod))
        return
    if any(isinstance(item, str) for item in mounts):
        return  # a template fills them in
    sheet.derive(_VOLUME, "none", "nothing is mounted at /dev/shm", container.path)
    note = "the container runtime's default: 64 MiB"
    size = int(engines()["kubernetes"].default("shm_bytes"))
    sheet.default(_BYTES, size, note)


def _ipc(pod: Pod) -> KeyPath:
    return (*pod.path, "hostIPC")


def _state_volume(sheet: FactSheet, pod: Pod, name: object, at: KeyPath) -> None:
    volumes = items(pod.spec.get("volumes"))
    for index, item in enumerate(volumes):
        volume = section(item)
        if volume.get("name") != name:
            continue
        path = (*pod.path, "volumes", index)
        kind = next((item for item in _KINDS if item in volume), "")
        fields = section(volume, "emptyDir")
        is_memory = fields.get("medium") == "Memory"
        text = "memory" if is_memory else _KINDS.get(kind, "other")
        sheet.derive(_VOLUME, text, f"the volume at {_SHARED}", (*path, "name"), at)
        if is_memory and fields.get("sizeLimit") is not None:
            _state_size(sheet, fields["sizeLimit"], (*path, "emptyDir", "sizeLimit"))
        return


def _state_size(sheet: FactSheet, limit: object, at: KeyPath) -> None:
    number = quantity(limit)
    if number is None:
        sheet.unusable(_BYTES, "the size is not a number yet", at)
        return
    sheet.state(_BYTES, int(number), at)


def _state_processors(sheet: FactSheet, containers: Sequence[PodContainer]) -> None:
    """State the processors that the containers may use; a request alone is no limit."""
    leaf = "cluster.job_cpus_per_node"
    limits = [
        section(container.fields, container.resources, "limits")
        for container in containers
    ]
    counts = [quantity(limit.get("cpu")) for limit in limits]
    known = [count for count in counts if count is not None]
    total = int(sum(known))
    if total and len(known) == len(counts):
        paths = [
            (*container.path, container.resources, "limits", "cpu")
            for container in containers
        ]
        sheet.derive(leaf, total, "the limit of the pod", *paths)


def _state_fabric_device(sheet: FactSheet, pod: Pod, container: PodContainer) -> None:
    """State the container's network device, and whether it may lock memory.

    A privileged container, or one with devices of the host, needs to ask for none.
    """
    leaf = "container.fabric_device"
    limits = section(container.fields, container.resources, "limits")
    at = (*container.path, container.resources, "limits")
    limit = next((name for name in limits if _is_of_fabric(name)), None)
    if limit is not None:
        sheet.derive(leaf, limit, f"{limit} is asked for", (*at, limit))
        if not limit.endswith(_EFA):
            _state_locking(sheet, container)
    elif limits and not _has_devices_of_host(pod, container):
        sheet.derive(leaf, "none", "no device of the network is asked for", at)


def _has_devices_of_host(pod: Pod, container: PodContainer) -> bool:
    if section(container.fields, "securityContext").get("privileged") is True:
        return True
    if any(isinstance(item, str) for item in items(pod.spec.get("volumes"))):
        return True  # a template fills them in
    paths = [
        section(volume, "hostPath").get("path")
        for volume in map(section, items(pod.spec.get("volumes")))
    ]
    return any(isinstance(path, str) and path.startswith("/dev") for path in paths)


def _state_locking(sheet: FactSheet, container: PodContainer) -> None:
    context = section(container.fields, "securityContext")
    at = (*container.path, "securityContext")
    leaf = "container.may_lock_memory"
    if context.get("privileged") is True:
        path = (*at, "privileged")
        derive_switch(sheet, leaf, "a privileged container", path)
        return
    added = items(section(context, "capabilities").get("add"))
    granted = [item for item in added if isinstance(item, str) and item in _LOCKING]
    if granted:
        path = (*at, "capabilities", "add", added.index(granted[0]))
        derive_switch(sheet, leaf, f"the capability {granted[0]}", path)
        return
    sheet.default(leaf, value=False, note="no capability IPC_LOCK is added")


def _is_of_fabric(name: str) -> bool:
    """Return whether a device plugin has it: `rdma/hca_shared_devices_a`, EFA."""
    return "/" in name and any(word in name.lower() for word in _FABRIC_WORDS)


def state_hardware(sheet: FactSheet, pod: Pod) -> None:
    """State what the labels of the nodes say, as far as their names are known."""
    selected = _selected(pod)
    sheet.facts += _labelled(sheet, selected, pod.accelerators)
    for container in pod.trainers():
        limits = section(container.fields, container.resources, "limits")
        if _EFA_DEVICE in limits:
            at = (*container.path, container.resources, "limits", _EFA_DEVICE)
            sheet.derive("cluster.fabric", "efa", f"{_EFA_DEVICE} is asked for", at)
            break


Labels = dict[str, tuple[str, KeyPath]]


"""The labels that a node must have, by name, with the path of their value."""


def _labelled(
    sheet: FactSheet, selected: Labels, devices: tuple[str, ReplicaCount] | None
) -> list[Fact]:
    fact_sheet = FactSheet(sheet.file, sheet.document)
    for name in _INSTANCE_LABELS:
        text, path = selected.get(name, ("", ()))
        if text and _is_instance(text):
            instance_facts(fact_sheet, text, sheet.place(path))
            return [fact for fact in fact_sheet.facts if not _is_larger(fact, devices)]
    for name in _ACCELERATOR_LABELS:
        text, path = selected.get(name, ("", ()))
        accelerator = _accelerator(text) if text else None
        if accelerator is not None:
            accelerator_facts(fact_sheet, accelerator, sheet.place(path))
            break
    return fact_sheet.facts


def _is_larger(fact: Fact, devices: tuple[str, ReplicaCount] | None) -> bool:
    """Return whether a machine has the GPUs that a pod requests, if it requests any."""
    if fact.name != _GPUS:
        return False
    result = devices[1].value if devices is not None else None
    return result is None or fact.value >= result


def _selected(pod: Pod) -> Labels:
    result: Labels = {}
    for name, value in section(pod.spec, "nodeSelector").items():
        if isinstance(value, str):
            result[name] = value, (*pod.path, "nodeSelector", name)
    terms = items(value_at(pod.spec, _REQUIRED))
    if len(terms) != 1:
        return result  # any of several will do
    at = (*pod.path, *_REQUIRED, 0, "matchExpressions")
    for index, item in enumerate(items(section(terms[0]).get("matchExpressions"))):
        outcome = section(item)
        label, values = outcome.get("key"), items(outcome.get("values"))
        if outcome.get("operator") != "In" or len(values) != 1:
            continue
        if isinstance(label, str) and isinstance(values[0], str):
            result.setdefault(label, (values[0], (*at, index, "values", 0)))
    return result


# The search for names that resemble an unknown one takes a millisecond.
@lru_cache(maxsize=64)
def _is_instance(name: str) -> bool:
    from speccheck.validator.catalogue.hardware import resolve_instance  # noqa: PLC0415

    try:
        resolve_instance(name)
    except UnknownName:
        return False
    return True


@lru_cache(maxsize=64)
def _accelerator(label: str) -> "Accelerator | None":
    from speccheck.validator.catalogue.hardware import resolve_accelerator  # noqa: PLC0415

    for suffix in _TPU_SUFFIXES:
        label = label.removesuffix(suffix)
    try:
        return resolve_accelerator(label)
    except UnknownName:
        return None
