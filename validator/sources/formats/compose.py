"""Compose files: services that train, what their containers get, and what they run.

Source: compose-spec/compose-spec 05-services.md and deploy.md at 170098b.
"""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.catalogue.containers import engines
from speccheck.validator.evidence.environment import Opening, Variable
from speccheck.validator.evidence.framework_keys import StatedVersion
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.containers import (
    ContainerOptions,
    Setting,
    state_container_options,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import (
    embedded_command,
    embedded_script,
)
from speccheck.validator.sources.launching import (
    launches,
    python_program,
    shared_facts,
)
from speccheck.validator.sources.mapping import derive_switch, integer_text, items
from speccheck.validator.sources.mapping import section as section_of
from speccheck.validator.sources.pinned_versions import versions_of_image
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reader,
    Reading,
    Reference,
    Source,
)

_FORMAT = "compose"
_LAUNCHED, _TRAINS = 0.9, 0.7
# A program with one of these in its name trains, with or without a launcher.
_TRAINING = ("train", "finetune", "fine_tune", "sft")
_RESERVED = ("deploy", "resources", "reservations", "devices")


class Service(Record):
    """A service of a compose file: its fields, where they lie, and what it runs."""

    path: KeyPath
    fields: Mapping[str, object]
    script: Source


def detect(document: Document) -> float:
    """Recognise it by a service that runs a launcher, or a program that trains."""
    services = [*_services(document)]
    if any(launches(service.script) for service in services):
        return _LAUNCHED
    return _TRAINS if services else 0.0


def _services(document: Document) -> Iterator[Service]:
    """Yield the services that train."""
    for name, fields in section_of(document.data, "services").items():
        path: KeyPath = ("services", str(name))
        if not isinstance(fields, dict) or not {"image", "build"} & fields.keys():
            continue
        script = _script(document, path, fields)
        if script is not None and _runs_training(script):
            yield Service(path, fields, script)


def _script(
    document: Document, path: KeyPath, fields: Mapping[str, object]
) -> Source | None:
    """Return what a service runs: a shell line, or words behind the entry point."""
    known = {
        variable.name: variable.value for variable in _variables(document, path, fields)
    }
    command = (*path, "command")
    if isinstance(fields.get("command"), str):
        return embedded_script(document, command, known)
    if isinstance(fields.get("entrypoint"), str):
        return embedded_script(document, (*path, "entrypoint"), known)
    return embedded_command(document, (*path, "entrypoint"), command, known=known)


def _runs_training(script: Source) -> bool:
    if launches(script):
        return True
    programs = [
        program.text.rpartition("/")[2]
        for command in script.script.commands
        if (program := python_program(command)) is not None
    ]
    return any(word in name for name in programs for word in _TRAINING)


def read(document: Document) -> Reading:
    """Return the containers of the services that train, and their scripts."""
    sheet = FactSheet.of(document)
    services = (*_services(document),)
    parts: list[list[Fact]] = []
    for service in services:
        own = FactSheet.of(document)
        state_container_options(own, _options(service))
        _state_gpus(own, service)
        parts.append(own.facts)
    sheet.facts.extend(shared_facts(parts, "services"))
    note = "services have the files of their images, and what is mounted"
    for service in services[:1]:
        derive_switch(sheet, "run.in_container", note, service.path)
    return Reading(
        sheet,
        variables=_shared(document, services),
        references=tuple(_references(document, services)),
        scripts=_scripts(services),
        versions=tuple(_versions(document, services)),
        openings=tuple(_openings(document, services)),
    )


def _scripts(services: Sequence[Service]) -> tuple[Source, ...]:
    """Return what the services run, each text once."""
    result: dict[str, Source] = {}
    for service in services:
        result.setdefault(service.script.text, service.script)
    return (*result.values(),)


def _options(service: Service) -> ContainerOptions:
    engine = engines()[_FORMAT]
    settings: dict[str, tuple[Setting, ...]] = {}
    for key, setting in engine.options.items():
        value = service.fields.get(key)
        if value is None or value is False:
            continue
        given = (*_settings(setting, value, (*service.path, key)),)
        if given:
            settings[setting] = given
    reserved = _reserved(service)
    if reserved is not None:
        settings.setdefault("gpus", (reserved,))
    if settings.get("network") and "networks" in settings:
        del settings["networks"]
    hidden = ""
    if "extends" in service.fields:
        hidden = "extends takes settings from another service"
    return ContainerOptions(engine, settings, service.path, hidden)


def _settings(name: str, value: object, at: KeyPath) -> Iterator[Setting]:
    """Yield the settings under a key: a text, a list, or a mapping."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield _setting(_field(name, str(key), item), (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            path = (*at, index)
            yield _setting(
                _long_form(name, item) if isinstance(item, dict) else str(item), path
            )
    else:
        yield _setting(str(value).lower() if value is True else str(value), at)


def _setting(text: str, at: KeyPath) -> Setting:
    unknown = f"{text[:60]} is known only when the file is used" if "$" in text else ""
    return Setting(text, at, unknown)


def _field(name: str, key: str, value: object) -> str:
    """Return an entry of a mapping as the option of a command has it."""
    if name == "limits":
        limits = value if isinstance(value, dict) else {}
        return f"{key}={limits.get('soft', value)}"
    if name == "variables":
        return f"{key}={value}"
    return key


def _long_form(name: str, fields: Mapping[object, object]) -> str:
    """Return a mount or a device that is written with keys as the short form."""
    target = fields.get("target", "")
    if name == "mounts" and fields.get("type") == "tmpfs":
        return f"tmpfs:{target}"
    source = fields.get("source") or fields.get("path") or fields.get("driver") or "all"
    return f"{source}:{target}" if target else str(source)


def _reserved(service: Service) -> Setting | None:
    """Return the GPUs that a service reserves."""
    devices = items(section_of(service.fields, *_RESERVED[:-1]).get(_RESERVED[-1]))
    for index, item in enumerate(devices):
        fields = section_of(item)
        kinds = items(fields.get("capabilities"))
        if "gpu" in kinds or fields.get("driver") == "nvidia":
            at = (*service.path, *_RESERVED, index)
            ids = items(fields.get("device_ids"))
            count = fields.get("count", len(ids) or "all")
            return _setting(str(count), at)
    return None


def _state_gpus(sheet: FactSheet, service: Service) -> None:
    """State how many GPUs a service reserves, where it says a number."""
    reserved = _reserved(service)
    count = integer_text(reserved.text) if reserved is not None else None
    if reserved is not None and isinstance(count, int):
        sheet.derive("cluster.gpus_per_node", count, "reserved", reserved.at)


def _variables(
    document: Document, path: KeyPath, fields: Mapping[str, object]
) -> Iterator[Variable]:
    """Yield the variables of a service; `NAME` alone takes that of the shell."""
    value = fields.get("environment")
    at = (*path, "environment")
    if isinstance(value, dict):
        for name, item in value.items():
            yield _variable(str(name), item, document.place((*at, name)))
        return
    for index, item in enumerate(items(value)):
        if isinstance(item, str):
            name, equals, text = item.partition("=")
            place = document.place((*at, index))
            yield _variable(name, text if equals else None, place)


def _variable(name: str, value: object, place: Place) -> Variable:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    is_known = value is not None and "$" not in text
    raw = "" if value is None else text
    return Variable(name, text if is_known else None, place._replace(key=name), raw)


def _shared(document: Document, services: Sequence[Service]) -> tuple[Variable, ...]:
    """Return the variables of all services; without a value where they differ."""
    result: dict[str, Variable] = {}
    for service in services:
        for variable in _variables(document, service.path, service.fields):
            first = result.setdefault(variable.name, variable)
            if first.value != variable.value:
                result[variable.name] = first._replace(value=None)
    return (*result.values(),)


def _files(services: Sequence[Service]) -> Iterator[tuple[str, KeyPath]]:
    """Yield the files of variables that services name."""
    for service in services:
        value = service.fields.get("env_file")
        at = (*service.path, "env_file")
        if isinstance(value, str):
            yield value, at
        for index, item in enumerate(items(value)):
            name = section_of(item).get("path") if isinstance(item, dict) else item
            if isinstance(name, str):
                yield name, (*at, index)


def _references(document: Document, services: Sequence[Service]) -> Iterator[Reference]:
    for name, at in dict(_files(services)).items():
        yield Reference(name, document.place(at))


def _openings(document: Document, services: Sequence[Service]) -> Iterator[Opening]:
    for name, at in dict(_files(services)).items():
        what = f"{name[:60]}, which a service takes variables from, is not here"
        yield Opening(what, document.place(at), name.removeprefix("./"))
    for service in services:
        if "extends" in service.fields:
            at = (*service.path, "extends")
            what = "the service that another one extends was not read"
            yield Opening(what, document.place(at))


def _versions(
    document: Document, services: Sequence[Service]
) -> Iterator[StatedVersion]:
    images = {
        image: (*service.path, "image")
        for service in services
        if isinstance(image := service.fields.get("image"), str)
    }
    for image, at in images.items():
        for package, release in versions_of_image(image):
            yield StatedVersion(package, release, document.place(at))


READER = Reader(_FORMAT, "launcher", detect, read, keys=("services",))
