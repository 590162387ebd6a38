"""Pods of Kubernetes objects: what their containers ask for, set and run.

Source of the fields: the core/v1 PodSpec of Kubernetes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.framework_keys import StatedVersion
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import (
    embedded_command,
    value_at,
)
from speccheck.validator.sources.mapping import Unusable, integer_text, items, section
from speccheck.validator.sources.pinned_versions import versions_of_image
from speccheck.validator.sources.reader import Source

# Extended resources of device plugins, and the family of the accelerator that they
# hand out. Shares of a GPU (nvidia.com/mig-1g.10gb) are none.
ACCELERATORS = {
    "nvidia.com/gpu": "nvidia",
    "amd.com/gpu": "amd",
    "google.com/tpu": "tpu",
    "habana.ai/gaudi": "gaudi",
    "aws.amazon.com/neuron": "trainium",
}


class Count(Record):
    """A number of pods or devices: None with the reason where it is not known."""

    value: int | None
    paths: tuple[KeyPath, ...] = ()
    note: str = ""


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


class Container(Record):
    """One container of a pod: its fields, where they stand, and its resources' key."""

    path: KeyPath
    fields: Mapping[str, object]
    resources: str = "resources"

    def runs(self, names: Iterable[str]) -> bool:
        """Whether one of these texts stands in its command."""
        command = " ".join(
            word
            for key in ("command", "args")
            for word in items(self.fields.get(key))
            if isinstance(word, str)
        )
        return any(name in command for name in names)

    @property
    def accelerators(self) -> tuple[str, Count] | None:
        """The accelerators that it asks for, by resource name; None for none."""
        # Kubernetes sets the request of a device to its limit.
        for kind in ("limits", "requests"):
            asked = section(self.fields, self.resources, kind)
            for name in ACCELERATORS:
                if name in asked:
                    at = (*self.path, self.resources, kind, name)
                    count = whole(asked[name], at)
                    return None if count.value == 0 else (name, count)
        return None


class Pod(Record):
    """A pod template: where its spec lies, and its containers."""

    path: KeyPath
    spec: Mapping[str, object]
    containers: tuple[Container, ...]

    @property
    def accelerators(self) -> tuple[str, Count] | None:
        """The accelerators of all containers; None when none asks for any."""
        asked = [one for each in self.containers if (one := each.accelerators)]
        if not asked:
            return None
        name, first = asked[0]
        if len(asked) == 1:
            return name, first
        counts = [count.value for _, count in asked]
        paths = tuple(path for _, count in asked for path in count.paths)
        known = [one for one in counts if one is not None]
        if len(known) < len(counts):
            return name, next(count for _, count in asked if count.value is None)
        parts = " + ".join(str(one) for one in known)
        return name, Count(sum(known), paths, f"containers of {parts}")

    def trainers(self) -> tuple[Container, ...]:
        """The containers with accelerators; all where none asks for any."""
        with_devices = tuple(one for one in self.containers if one.accelerators)
        return with_devices or self.containers


def fields_at(document: Document, path: KeyPath) -> Mapping[str, object]:
    """The mapping at a path; empty for anything else."""
    return section(value_at(document.data, path))


def pod_at(document: Document, path: KeyPath) -> Pod:
    """The pod whose spec lies at a path; empty when nothing does."""
    spec = fields_at(document, path)
    containers = tuple(
        Container((*path, "containers", index), section(one))
        for index, one in enumerate(items(spec.get("containers")))
    )
    return Pod(path, spec, containers)


def whole(value: object, at: KeyPath) -> Count:
    """A number of pods or devices, as text where it is a quantity."""
    if isinstance(value, str) and "$" in value:
        return Count(None, (at,), f"placeholder {value[:60]}")
    number = integer_text(value)
    if isinstance(number, int) and number >= 0:
        return Count(number, (at,))
    reason = number.reason if isinstance(number, Unusable) else f"{number} is below 0"
    return Count(None, (at,), reason)


def environment(
    document: Document, containers: Sequence[Container]
) -> tuple[Variable, ...]:
    """The variables of the containers; what differs between them has no value."""
    found: dict[str, list[Variable]] = {}
    for container in containers:
        for index, item in enumerate(items(container.fields.get("env"))):
            one = section(item)
            name = one.get("name")
            if not isinstance(name, str) or not name:
                continue
            at = (*container.path, "env", index)
            found.setdefault(name, []).append(_variable(document, name, one, at))
    return tuple(_shared(parts, len(containers)) for parts in found.values())


def _shared(parts: Sequence[Variable], containers: int) -> Variable:
    """The variable of all pods, with its parts where they say something together."""
    first = parts[0]
    if any(one.value != first.value for one in parts):
        return first._replace(value=None, parts=(*parts,))
    is_whole = len(parts) == containers > 1
    return first._replace(parts=(*parts,)) if is_whole else first


def _variable(
    document: Document, name: str, item: Mapping[str, object], at: KeyPath
) -> Variable:
    """One entry of `env`; a value from elsewhere, or of a template, is not known."""
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


def scripts(document: Document, containers: Sequence[Container]) -> tuple[Source, ...]:
    """What the containers run, each text once: pods of a job mostly run the same."""
    found: dict[str, Source] = {}
    for container in containers:
        known = {one.name: one.value for one in environment(document, (container,))}
        paths = ((*container.path, "command"), (*container.path, "args"))
        source = embedded_command(document, *paths, known=known)
        if source is not None:
            found.setdefault(source.text.lstrip("\n"), source)
    return tuple(found.values())


def versions(
    document: Document, containers: Sequence[Container]
) -> Iterator[StatedVersion]:
    """The releases that the images of the containers name."""
    seen: set[object] = set()
    for container in containers:
        image = container.fields.get("image")
        if isinstance(image, str) and image not in seen:
            seen.add(image)
            place = document.place((*container.path, "image"))
            for package, release in versions_of_image(image):
                yield StatedVersion(package, release, place)
