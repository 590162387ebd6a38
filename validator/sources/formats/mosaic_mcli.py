"""A run file of MosaicML's command line (`mcli run -f`) that wraps no training file.

Where LLM Foundry's configuration lies below `parameters`, the reader of that format
takes the whole file. Source: the run schema of MosaicML's platform
(docs.mosaicml.com, "Run schema").
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.framework_keys import StatedVersion
from speccheck.validator.sources.context import gpu_facts, instance_facts
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import embedded_script
from speccheck.validator.sources.mapping import (
    Fields,
    apply,
    boolean,
    derive_switch,
    integer,
    items,
    number,
    section,
)
from speccheck.validator.sources.pinned_versions import versions_of_image
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

_Settings = Mapping[str, object]
_FORMAT = "mosaic-mcli"
_COMPANIONS = frozenset(
    {"compute", "env_variables", "image", "integrations", "name", "parameters"}
)
_COMPUTE = frozenset({"cluster", "gpu_type", "gpus", "instance", "nodes"})
_FEWEST = 2


def detect(document: Document) -> float:
    """Recognise it by a command, and the machines or repositories for it."""
    data = section(document.data)
    companions = len(_COMPANIONS.intersection(data))
    if not isinstance(data.get("command"), str) or companions < _FEWEST:
        return 0.0
    machines = not _COMPUTE.isdisjoint(section(data, "compute"))
    repositories = isinstance(data.get("integrations"), list)
    if not machines and not repositories:
        return 0.0
    return min(0.9, 0.5 + 0.06 * companions + 0.05 * (machines and repositories))


def read(document: Document) -> Reading:
    """Return what the run asks of the platform, and the command that it runs."""
    return add_run(document, Reading(FactSheet.of(document)))


def _hours(value: object) -> object:
    """Return the hours as seconds."""
    hours = number(value)
    return hours * 3600.0 if isinstance(hours, float) else hours


_FIELDS: Fields = {
    "compute": {
        "gpus": ("cluster.world_size", integer),
        "nodes": ("cluster.nodes", integer),
    },
    "scheduling": {
        "max_duration": ("recovery.walltime_seconds", _hours),
        "preemptible": ("run.shared_capacity", boolean),
        "retry_on_system_failure": ("recovery.requeue", boolean),
    },
}


def add_run(document: Document, reading: Reading) -> Reading:
    """Return a reading with the run file's facts, variables, releases and command."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    compute = section(data, "compute")
    _machine(sheet, compute)
    if isinstance(data.get("image"), str):
        derive_switch(sheet, "run.in_container", "image is set", ("image",))
    reading.facts.facts.extend(sheet.facts)
    script = embedded_script(document, ("command",))
    return reading._replace(
        variables=(*reading.variables, *_variables(document, data)),
        versions=(*reading.versions, *_versions(document, data)),
        scripts=(*reading.scripts, *((script,) if script is not None else ())),
    )


def _machine(sheet: FactSheet, compute: _Settings) -> None:
    for key, leaf, state in (
        ("gpu_type", "cluster.accelerator", gpu_facts),
        ("instance", "cluster.instance_type", instance_facts),
    ):
        name = compute.get(key)
        if isinstance(name, str) and name:
            place = sheet.place(("compute", key))
            try:
                state(sheet, name.replace("_", "-"), place)
            except UnknownName as error:
                sheet.unusable(leaf, str(error), place)


def _variables(document: Document, data: _Settings) -> Iterator[Variable]:
    """Yield `env_variables` as a mapping, or as a list of pairs of key and value."""
    block = data.get("env_variables")
    for key, value in section(block).items():
        yield _variable(document, str(key), value, ("env_variables", key))
    for index, pair in enumerate(items(block)):
        name = section(pair).get("key")
        if isinstance(name, str):
            value = section(pair).get("value")
            yield _variable(document, name, value, ("env_variables", index, "value"))


def _variable(
    document: Document, name: str, value: object, at: tuple[str | int, ...]
) -> Variable:
    raw = document.raw(at)
    written = raw.text if raw is not None else ""
    known = None if isinstance(value, dict | list) else written
    return Variable(name, known, document.place(at), written)


def _versions(document: Document, data: _Settings) -> Iterator[StatedVersion]:
    image = data.get("image")
    if isinstance(image, str):
        for package, release in versions_of_image(image):
            yield StatedVersion(package, release, document.place(("image",)))
    for index, entry in enumerate(items(data.get("integrations"))):
        block = section(entry)
        repository, branch = block.get("git_repo"), block.get("git_branch")
        if isinstance(repository, str) and isinstance(branch, str):
            release = branch.removeprefix("v")
            if release[:1].isdecimal() and "." in release:
                package = repository.rstrip("/").rpartition("/")[2].lower()
                at = ("integrations", index, "git_branch")
                yield StatedVersion(package, release, document.place(at))


READER = Reader(_FORMAT, "launcher", detect, read, keys=("compute", "integrations"))
