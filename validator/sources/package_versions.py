"""Which releases of its packages a plan runs on, as far as files say.

The files of a plan may name them (a container image), and exact pins may lie beside
them. All that is said of one package must agree: where it does not, nothing is chosen.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    FrameworkVersion,
    StatedVersion,
    parse_version,
)
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.files import ReadFile

NCCL = "nccl"
# Packages whose framework has another name; NCCL comes in a wheel for each CUDA.
_FRAMEWORKS = {
    "ai2-olmo": "olmo",
    "ai2-olmo-core": "olmo-core",
    "megatron-core": "megatron-lm",
    "nemo-toolkit": "nemo1",
    "nvidia-nccl-cu11": NCCL,
    "nvidia-nccl-cu12": NCCL,
    "nvidia-nccl-cu13": NCCL,
}
# Tables of which no package says the release: launchers, and what is run from a clone.
_PARTS_OF_NAMES = (
    "requirements",
    "constraints",
    ".lock",
    "environment.",
    "conda.",
    "pyproject.",
)
_WITHOUT_PACKAGE = frozenset({"gpt-neox", "launchers"})

Versions = Mapping[str, Value[str]]
"""By framework, as the key tables name it: a release, or a conflict of several."""


def stated_versions(files: Sequence[ReadFile]) -> Versions:
    """Return what the files of a plan, and the pins beside them, say of each framework.

    The folders are only looked into when a file has keys that come and go with the
    releases of a framework, or sets variables of NCCL.
    """
    result = [
        version
        for file in files
        for reading in file.readings
        for version in reading.versions
    ]
    if any(_depends_on_versions(file) for file in files):
        result.extend(_pins_beside(files))
    by_framework: dict[str, list[StatedVersion]] = {}
    for stated_version in result:
        name = _FRAMEWORKS.get(stated_version.package, stated_version.package)
        by_framework.setdefault(name, []).append(stated_version)
    return {name: _joined(name, rows) for name, rows in by_framework.items()}


def _depends_on_versions(file: ReadFile) -> bool:
    for reading in file.readings:
        keyed = reading.keyed
        if keyed is not None and keyed.catalogue is not None:
            if keyed.catalogue.family not in _WITHOUT_PACKAGE:
                return True
        elif any(variable.name.startswith("NCCL_") for variable in reading.variables):
            return True
    return False


def _pins_beside(files: Iterable[ReadFile]) -> Iterator[StatedVersion]:
    folders = [
        folder
        for folder in dict.fromkeys(
            os.path.dirname(file.status.path) for file in files if not _is_stream(file)
        )
        if _may_pin(folder)
    ]
    if not folders:
        return
    # Imported with the first folder that has files of this kind.
    from speccheck.validator.sources.pinned_versions import (  # noqa: PLC0415
        pinned_versions,
    )

    for folder in folders:
        yield from pinned_versions(folder)


@cache
def _may_pin(folder: str) -> bool:
    """Return whether the name of any file in a folder is one of pins."""
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return False
    return any(part in name.lower() for name in names for part in _PARTS_OF_NAMES)


def _is_stream(file: ReadFile) -> bool:
    """Return whether a file came from standard input, with nothing beside it."""
    return file.status.path == "stdin"


def _joined(name: str, rows: Sequence[StatedVersion]) -> Value[str]:
    """Return the most exact of releases that agree, else a conflict."""
    places = tuple(dict.fromkeys(row.place for row in rows))
    most = max(rows, key=lambda row: len(_number(row.text)))
    if all(_agree(row.text, most.text) for row in rows):
        return Value(f"{name} version", most.text, "stated", places)
    first: dict[str, Place] = {}
    for row in rows:
        first.setdefault(row.text, row.place)
    return Value(
        f"{name} version",
        None,
        "conflict",
        tuple(first.values()),
        "stated with different values",
        tuple(first),
    )


def _number(text: str) -> tuple[int, ...]:
    version = version_of(text)
    return version.number if version is not None else ()


def _agree(text: str, most: str) -> bool:
    """Return whether a release is the other one, or leaves its last numbers open."""
    number = _number(text)
    return number == _number(most)[: len(number)]


def version_of(text: str | None) -> FrameworkVersion | None:
    """Return the version; None where it cannot be read, which an option refuses."""
    try:
        return parse_version(text) if text else None
    except ValueError:
        return None


def with_version(
    keyed: KeyedFile, value: Value[str], main: str | None, versions: Versions
) -> KeyedFile:
    """Return a file's keys with the release that judges them, and who states it.

    Args:
        keyed: the keys of a file.
        value: `run.framework_version`; one that names no framework speaks of the main.
        main: the main framework of the plan, or None where it has no table.
        versions: what the files say.
    """
    table = keyed.catalogue
    if table is None:
        return keyed
    version = version_of(value.value)
    named = version.framework or main if version is not None else None
    if version is not None and (named is None or is_named(table, named)):
        return keyed._replace(version=version, version_places=value.places)
    stated = versions.get(table.family)
    if stated is None:
        return keyed
    version = version_of(stated.value)
    return keyed._replace(version=version, version_places=stated.places)


def is_named(table: FrameworkKeys, name: str | None) -> bool:
    """Return whether a framework is a table's, or one whose releases it knows."""
    return name in {table.framework, table.family} or name in _others(table)


@cache
def _others(table: FrameworkKeys) -> frozenset[str | None]:
    """Return the table's other frameworks: Hugging Face's also has those of TRL."""
    return frozenset(parse_version(text).framework for text in table.versions)
