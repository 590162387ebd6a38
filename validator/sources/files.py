"""From arguments to readings: which files there are, and what each of them is."""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.document import ReadError
from speccheck.validator.sources.reader import (
    Detection,
    Reading,
    Role,
    ScriptReader,
    detect_document,
    detect_script,
    document_readers,
    readers,
    script_readers,
)
from speccheck.validator.sources.reading import read_stream, read_text
from speccheck.validator.sources.source import Source

FileState = Literal["judged", "unrecognised", "template", "unreadable"]
SEARCHED_SUFFIXES = (
    ".yaml",
    ".yml",
    ".json",
    ".hjson",
    ".toml",
    ".sh",
    ".sbatch",
    ".slurm",
    ".env",
    ".conf",
)
# Folders that never hold a configuration of their own.
_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "site-packages", "venv", "build", "dist"}
)
_MAXIMUM_FILES = 100_000


class FileStatus(Record):
    """One file of the run, for `files` of a report and `--show-files`."""

    path: str
    format: str = ""
    confidence: float = 0.0
    state: FileState = "judged"
    message: str = ""
    runner_up: str = ""
    named: bool = True  # given by the user, not found in a folder


class ReadFile(Record):
    """A recognised file: its source and what its readers made of it."""

    status: FileStatus
    source: Source
    format: str
    role: Role
    readings: tuple[Reading, ...]


_Found = tuple[Detection, Role, list[Reading]]


class UnknownFormat(Exception):  # noqa: N818 - a usage error with its own message
    """`--format` names no reader."""


def find_files(arguments: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each file to read, and whether the user named it; folders are searched."""
    seen: set[str] = set()
    for argument in arguments:
        found = _search(argument) if os.path.isdir(argument) else ((argument, True),)
        for path, named in found:
            if path not in seen:
                seen.add(path)
                yield path, named


def _search(folder: str) -> Iterator[tuple[str, bool]]:
    count = 0
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED_FOLDERS
        )
        for name in sorted(names):
            if name.endswith(SEARCHED_SUFFIXES) and (
                not name.startswith(".") or name.startswith(".env")
            ):
                count += 1
                if count > _MAXIMUM_FILES:
                    return
                yield os.path.join(where, name), False


def read_file(
    path: str,
    *,
    named: bool = True,
    format_id: str | None = None,
    stdin_name: str | None = None,
) -> tuple[FileStatus, list[ReadFile]]:
    """Read one file; a file that cannot be read or is not known gives its status only.

    A YAML file of several documents gives one ReadFile for each that is recognised.
    Raises UnknownFormat for a `format_id` that no reader has.
    """
    name = (stdin_name or "stdin") if path == "-" else path
    source: Source | None = None
    try:
        source = Source(name, _text(path, name))
        found = _read(source, format_id)
    except ReadError as error:
        return _unread(source, name, error, named=named), []
    if not found:
        return _unrecognised(name, named=named), []
    detection = found[0][0]
    status = FileStatus(
        name,
        detection.format,
        detection.confidence,
        runner_up=detection.runner_up,
        named=named,
    )
    return status, [
        ReadFile(status, source, one.format, role, (*readings,))
        for one, role, readings in found
    ]


def _text(path: str, name: str) -> str:
    return read_stream(name, sys.stdin.buffer) if path == "-" else read_text(path)


def _unread(
    source: Source | None, name: str, error: ReadError, *, named: bool
) -> FileStatus:
    """A template says what it will be; anything else could not be read."""
    status = FileStatus(name, state="unreadable", message=str(error), named=named)
    if error.kind != "template" or source is None:
        return status
    from speccheck.validator.sources.template_format import (  # noqa: PLC0415 - rare
        template_format,
    )

    found = template_format(source)
    if found is None:
        return status._replace(state="template")
    return status._replace(
        state="template", format=found.format, confidence=found.confidence
    )


def _unrecognised(name: str, *, named: bool) -> FileStatus:
    message = (
        f"{name}: not a training configuration that speccheck knows; if it is one, "
        f"name its format with --format ({', '.join(sorted(readers()))})"
    )
    return FileStatus(name, state="unrecognised", message=message, named=named)


def _read(source: Source, format_id: str | None) -> list[_Found]:
    if format_id is not None:
        return [_read_as(source, format_id)]
    if source.language == "shell":
        detection = detect_script(source)
        if detection is None:
            return []
        role = script_readers()[detection.format].role
        return [(detection, role, _script_readings(source))]
    found: list[_Found] = []
    for document in source.documents:
        detection = detect_document(document)
        if detection is not None:
            reader = document_readers()[detection.format]
            found.append((detection, reader.role, [reader.read(document)]))
    return found


def _script_readings(source: Source) -> list[Reading]:
    """A script is read by every reader that finds something of its own in it."""
    return [
        reader.read(source)
        for reader in script_readers().values()
        if reader.detect(source) > 0
    ]


def _read_as(source: Source, format_id: str) -> _Found:
    reader = readers().get(format_id)
    if reader is None:
        known = ", ".join(sorted(readers()))
        message = f"--format {format_id}: no such format; known are {known}"
        raise UnknownFormat(message)
    detection = Detection(format_id, 1.0)
    if isinstance(reader, ScriptReader):
        return detection, reader.role, _script_readings(source)
    readings = [reader.read(document) for document in source.documents]
    return detection, reader.role, readings
