"""SkyPilot tasks: nodes, accelerators, recovery, and the script that every node runs.

Source: skypilot-org/skypilot sky/utils/schemas.py at 00052df, sky/task.py and
sky/resources.py; https://docs.skypilot.co/en/latest/reference/yaml-spec.html.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.framework_keys import StatedVersion
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.context import gpu_facts, instance_facts
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import Variables, embedded_script
from speccheck.validator.sources.mapping import (
    Unusable,
    derive_switch,
    integer,
    items,
    parse_number,
    put,
    section,
    without_place,
)
from speccheck.validator.sources.pinned_versions import versions_of_image
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "skypilot"
_NODES, _GPUS = "cluster.nodes", "cluster.gpus_per_node"
_REQUEUE = "recovery.requeue"
# Keys of `resources`; the first are in no other format.
_TELLING = frozenset(
    {"accelerators", "gpus", "infra", "instance_type", "any_of", "ordered"}
)
_SHARED = frozenset({"cloud", "cpus", "image_id", "memory", "ports", "use_spot"})
_SCRIPTS = ("run", "setup")
_IMAGE = "docker:"

Accelerators = dict[tuple[str, object], KeyPath]
"""Name and number of the accelerators of a node, and the key that asks for them."""


def detect(document: Document) -> float:
    """Recognise the format by `resources` in SkyPilot's words beside a script."""
    data = section(document.data)
    resources = section(data, "resources")
    if not any(isinstance(data.get(name), str) for name in _SCRIPTS):
        return 0.0
    if not _TELLING.isdisjoint(resources):
        return 0.9
    return 0.7 if not _SHARED.isdisjoint(resources) else 0.0


def read(document: Document) -> Reading:
    """Return the cluster that the task asks for, and what it runs there."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    resources = section(data, "resources")
    _state_nodes(sheet, data)
    _state_accelerators(sheet, resources)
    _state_recovery(sheet, resources)
    if str(resources.get("image_id")).startswith(_IMAGE):
        at = ("resources", "image_id")
        derive_switch(sheet, "run.in_container", "image_id names a container", at)
    variables = tuple(_variables(sheet, data))
    known = _known(sheet, variables)
    scripts = (embedded_script(document, (name,), known) for name in _SCRIPTS)
    return Reading(
        sheet,
        keyed_file(document, _FORMAT, load_framework("launchers", "SkyPilot")),
        variables,
        scripts=tuple(script for script in scripts if script is not None),
        versions=tuple(_versions(sheet, resources)),
    )


def _state_nodes(sheet: FactSheet, data: Mapping[str, object]) -> None:
    nodes = data.get("num_nodes")
    if nodes is None:
        sheet.default(_NODES, 1, "num_nodes is not set: one node")
    else:
        put(sheet, _NODES, integer(nodes), ("num_nodes",))


def _state_accelerators(sheet: FactSheet, resources: Mapping[str, object]) -> None:
    """State what every node has; of alternatives what they share."""
    at: KeyPath = ("resources", "instance_type")
    instance = resources.get("instance_type")
    if isinstance(instance, str):
        with suppress(UnknownName):
            instance_facts(sheet, instance, sheet.place(at))
    name = "gpus" if "gpus" in resources else "accelerators"
    result = _accelerators(resources.get(name), ("resources", name))
    for name in ("any_of", "ordered"):
        for index, item in enumerate(items(resources.get(name))):
            path: KeyPath = ("resources", name, index, "accelerators")
            result = _accelerators(section(item).get("accelerators"), path) | result
    if not result:
        return
    first = next(iter(result.values()))
    counts = {_count(name, count) for name, count in result}
    names = {name for name, _ in result}
    if len(counts) == 1:
        put(sheet, _GPUS, counts.pop(), first)
    else:
        sheet.unusable(_GPUS, "differs between the accelerators that will do", first)
    if len(names) == 1:
        with suppress(UnknownName):
            gpu_facts(sheet, names.pop(), sheet.place(first))


def _accelerators(value: object, at: KeyPath) -> Accelerators:
    """Return the accelerators of `H100:8`, `{H100: 8}`, `[H100:8, A100:8]` or a set."""
    if isinstance(value, str):
        name, _, count = value.partition(":")
        return {(name.strip(), parse_number(count) if count else 1): at}
    result: Accelerators = {}
    if isinstance(value, dict):
        for key, count in value.items():
            if count is None:
                result.update(_accelerators(key, at))
            elif isinstance(count, int | float):
                result[str(key), count] = (*at, str(key))
    for index, item in enumerate(items(value)):
        if isinstance(item, str):
            result.update(_accelerators(item, (*at, index)))
    return result


def _count(name: str, count: object) -> object:
    """Return a node's accelerators.

    A part of one is shared, a TPU slice has several.
    """
    if name.lower().startswith("tpu"):
        return Unusable("the name of a TPU holds the number of its cores")
    if isinstance(count, float) and 0 < count < 1:
        return Unusable("a part of one accelerator, which other tasks share")
    return integer(count)


def _state_recovery(sheet: FactSheet, resources: Mapping[str, object]) -> None:
    """State that only managed jobs restart: `sky jobs launch`, not `sky launch`."""
    if resources.get("use_spot") is True:
        at: KeyPath = ("resources", "use_spot")
        sheet.derive("run.shared_capacity", True, "use_spot: true", at)  # noqa: FBT003
    recovery = resources.get("job_recovery")
    if recovery is None:
        reason = "a managed job restarts after a fault, another one does not"
        without_place(sheet, _REQUEUE, reason)
    elif isinstance(recovery, str | dict):
        note = "job_recovery is set: a managed job restarts after a fault of its nodes"
        at = ("resources", "job_recovery")
        sheet.derive(_REQUEUE, str(recovery).lower() != "none", note, at)


def _variables(sheet: FactSheet, data: Mapping[str, object]) -> Iterator[Variable]:
    """Yield `envs`, all made texts; null is to be given with `--env` at the launch."""
    for name, value in section(data, "envs").items():
        if not isinstance(value, dict | list):
            text = None if value is None else str(value)
            yield Variable(name, text, sheet.place(("envs", name)), text or "")


def _known(sheet: FactSheet, variables: tuple[Variable, ...]) -> Variables:
    """Return what the scripts are started with: `envs`, and what SkyPilot adds."""
    known: dict[str, str | None] = {
        variable.name: variable.value for variable in variables
    }
    leaves = {fact.name: fact.value for fact in sheet.facts}
    for leaf, name in (
        (_NODES, "SKYPILOT_NUM_NODES"),
        (_GPUS, "SKYPILOT_NUM_GPUS_PER_NODE"),
    ):
        value = leaves.get(leaf)
        known[name] = None if value is None else str(value)
    return known


def _versions(
    sheet: FactSheet, resources: Mapping[str, object]
) -> Iterator[StatedVersion]:
    """Return the packages of the container that the task runs in."""
    image = resources.get("image_id")
    if isinstance(image, str) and image.startswith(_IMAGE):
        place = sheet.place(("resources", "image_id"))
        for package, release in versions_of_image(image.removeprefix(_IMAGE)):
            yield StatedVersion(package, release, place)


READER = Reader(_FORMAT, "launcher", detect, read, keys=("resources",))
