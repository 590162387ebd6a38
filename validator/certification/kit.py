"""An evidence kit: a folder of files, each with its hash, kind, time and machine.

A file is read once: what is hashed is what is classified. Nothing outside of the folder
is looked at, and nothing in it is changed.
"""

import hashlib
import os
import stat
from collections.abc import Iterator

from speccheck.validator.certification.evidence_file import (
    EvidenceFile,
    Kit,
    Problem,
)
from speccheck.validator.certification.kit_entry import entry_of, text_entry
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import MAXIMUM_BYTES, decode
from speccheck.validator.sources.files import ReadFile, read_file
from speccheck.validator.sources.registry import Readers

MANIFEST = "evidence.json"
MOST_FILES = 20_000
MOST_BYTES = 20_000_000_000
_AT_ONCE = 1_000_000
_GIGA = 10**9


class KitError(Exception):
    """A folder that holds no evidence that can be read; the message says why."""


class OpenedFile(Record):
    """A file of a kit, with what its readers made of it."""

    file: EvidenceFile
    found: tuple[ReadFile, ...]
    problem: str = ""


def read_kit(folder: str, readers: Readers | None = None) -> Kit:
    """All files of a folder; raises KitError."""
    passed_over: list[Problem] = []
    files: list[EvidenceFile] = []
    problems: list[Problem] = []
    for one in open_kit(folder, passed_over, readers):
        files.append(one.file)
        if one.problem:
            problems.append(Problem(one.file.path, one.problem))
    return Kit(folder, tuple(files), tuple(problems), tuple(passed_over))


def open_kit(
    folder: str, passed_over: list[Problem], readers: Readers | None = None
) -> Iterator[OpenedFile]:
    """Each file of a folder, sorted by path; raises KitError.

    passed_over: takes what is not looked at.
    """
    readers = readers or Readers()
    for path in _listed(folder, passed_over):
        yield _opened(folder, path, readers)


def sha256_of(content: bytes) -> str:
    """The digest of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _listed(folder: str, passed_over: list[Problem]) -> list[str]:
    """The paths of the regular files below a folder, relative to it, sorted."""
    if not os.path.isdir(folder):
        there = "is no folder" if os.path.exists(folder) else "no such folder"
        message = f"{folder}: {there}; name the folder that holds the evidence"
        raise KitError(message)
    found: list[str] = []
    total = 0
    for path, status in _walked(folder, passed_over):
        found.append(path)
        total += status.st_size
        if len(found) > MOST_FILES:
            message = f"{folder}: more than {MOST_FILES:,} files; name a smaller folder"
            raise KitError(message)
        if total > MOST_BYTES:
            message = (
                f"{folder}: more than {MOST_BYTES // _GIGA} GB; keep what is judged"
            )
            raise KitError(message)
    return sorted(found)


def _walked(
    folder: str, passed_over: list[Problem]
) -> Iterator[tuple[str, os.stat_result]]:
    def failed(error: OSError) -> None:
        message = f"{error.filename or folder}: cannot be read: {error.strerror}"
        raise KitError(message) from error

    for where, folders, names in os.walk(folder, onerror=failed):
        below = os.path.relpath(where, folder)
        for name in sorted((*folders, *names)):
            path = _posix(name if below == os.curdir else os.path.join(below, name))
            reason = _passed_over(os.path.join(where, name), name)
            if reason:
                passed_over.append(Problem(path, reason))
        folders[:] = sorted(
            one for one in folders if not _passed_over(os.path.join(where, one), one)
        )
        for name in sorted(names):
            whole = os.path.join(where, name)
            if not _passed_over(whole, name):
                path = _posix(os.path.relpath(whole, folder))
                if path != MANIFEST:
                    yield path, os.lstat(whole)


def _passed_over(path: str, name: str) -> str:
    """Why a file or folder is not looked at; empty where it is."""
    if name.startswith("."):
        return "hidden"
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISLNK(mode):
        return "a link: copy what it leads to into the folder"
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
        return ""
    return "a pipe, socket or device"


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")


def _opened(folder: str, path: str, readers: Readers) -> OpenedFile:
    whole = os.path.join(folder, *path.split("/"))
    try:
        content, digest, size = _content(whole)
    except OSError as error:
        bare = EvidenceFile(path, "other", "", "", 0)
        return OpenedFile(bare, (), f"cannot be read: {error.strerror}")
    bare = EvidenceFile(path, "other", "", digest, size)
    if content is None:
        note = f"{size:,} bytes; readers take {MAXIMUM_BYTES:,}"
        return OpenedFile(bare._replace(note=note), ())
    try:
        text = decode(whole, content)
    except ReadError as error:
        if error.kind == "empty":
            return OpenedFile(bare, (), f"{error.problem}; {error.remedy}")
        return OpenedFile(bare._replace(note=error.problem), ())
    return _classified(bare, whole, text, readers)


def _classified(
    bare: EvidenceFile, whole: str, text: str, readers: Readers
) -> OpenedFile:
    status, found = read_file(whole, named=False, readers=readers, text=text)
    if found:
        return OpenedFile(entry_of(bare, found, text), tuple(found))
    is_damaged = status.state == "unreadable"
    problem = _told(status.message, whole) if is_damaged else ""
    return OpenedFile(text_entry(bare, text), (), problem)


def _told(message: str, path: str) -> str:
    """What a reader says, without the path that stands before it anyway."""
    return message.removeprefix(path).lstrip(": ")


def _content(path: str) -> tuple[bytes | None, str, int]:
    """The bytes, their digest and number; no bytes where readers would take none."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(None, "is no regular file")
        content = file.read(MAXIMUM_BYTES + 1)
        if len(content) <= MAXIMUM_BYTES:
            return content, sha256_of(content), len(content)
        digest = hashlib.sha256(content)
        size = len(content)
        while piece := file.read(_AT_ONCE):
            digest.update(piece)
            size += len(piece)
        return None, digest.hexdigest(), size
