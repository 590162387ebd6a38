"""`--what-if tp=4,nodes=16`: what a user wrote, as facts about the plan."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.changes.what_if.names import WhatIfError, leaf_of
from speccheck.validator.evidence.framework_keys import parse_version
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.context import (
    COMMAND_LINE,
    fabric_facts,
    gpu_facts,
    instance_facts,
)
from speccheck.validator.sources.formats.native import Refused, value_of_text
from speccheck.validator.sources.reader import Fact, FactSheet

FLAG = "--what-if"
_HARDWARE = {
    "cluster.accelerator": gpu_facts,
    "cluster.instance_type": instance_facts,
    "cluster.fabric": fabric_facts,
}


class Assignment(Record):
    """One leaf that is set: as written, and all facts that follow from it alone."""

    text: str
    leaf: str
    facts: tuple[Fact, ...]


def assignments(texts: Sequence[str]) -> tuple[Assignment, ...]:
    """What all `--what-if` options set; raises WhatIfError."""
    found: dict[str, Assignment] = {}
    for text in _split(texts):
        one = _assignment(text)
        known = found.get(one.leaf)
        if known is not None and known.facts[0].value != one.facts[0].value:
            message = f"{FLAG} {one.text}: {known.text} is set as well"
            raise WhatIfError(message)
        found[one.leaf] = one
    return tuple(found.values())


def _split(texts: Iterable[str]) -> Iterator[str]:
    """Single assignments; a comma that none follows belongs to the value."""
    for text in texts:
        parts: list[str] = []
        for part in text.split(","):
            if parts and "=" not in part:
                parts[-1] += f",{part}"
            else:
                parts.append(part)
        yield from parts


def _assignment(text: str) -> Assignment:
    name, equal, value = (part.strip() for part in text.partition("="))
    if not equal or not name or not value:
        message = f"{FLAG} {text}: write NAME=VALUE, such as tp=4 or nodes=16"
        raise WhatIfError(message)
    leaf = leaf_of(name)
    written = f"{name}={value}"
    return Assignment(written, leaf, _facts(leaf, value, written))


def set_leaf(leaf: str, value: object, text: str) -> Assignment:
    """An assignment of a value that is typed already."""
    return Assignment(text, leaf, (Fact(leaf, value, "stated", (_place(text),)),))


def _facts(leaf: str, value: str, written: str) -> tuple[Fact, ...]:
    place = _place(written)
    sheet = FactSheet(COMMAND_LINE)
    hardware = _HARDWARE.get(leaf)
    try:
        if hardware is not None:
            hardware(sheet, value, place)
        elif leaf == "run.framework_version":
            _state_version(sheet, value, place)
        else:
            _state(sheet, leaf, value, place)
    except (UnknownName, ValueError) as error:
        message = f"{FLAG} {written}: {error}"
        raise WhatIfError(message) from error
    return tuple(sheet.facts)


def _place(written: str) -> Place:
    return Place(COMMAND_LINE, f"{FLAG} {written}")


def _state(sheet: FactSheet, leaf: str, value: str, place: Place) -> None:
    found = value_of_text(leaf, value)
    if isinstance(found, Refused):
        message = f"{found.loaded} is not {found.expected}"
        raise ValueError(message)  # noqa: TRY004 - the text, not its type, is wrong
    sheet.state(leaf, found, place)


def _state_version(sheet: FactSheet, value: str, place: Place) -> None:
    version = parse_version(value)
    sheet.state("run.framework_version", value, place)
    if version.framework:
        sheet.derive("run.framework", version.framework, value, place)
