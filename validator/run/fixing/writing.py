"""Writes edited files: all of them or none, each whole, and none that has changed."""

import os
import stat
from collections.abc import Mapping
from contextlib import ExitStack, suppress

from speccheck.validator.engine.repository import repository_root
from speccheck.validator.evidence.record import Record
from speccheck.validator.run.run import Run
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_file_text

_BOM = b"\xef\xbb\xbf"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class NotWritten(Exception):  # noqa: N818 - a usage error with its own message
    """No file was changed; the message says which could not be, and why."""


class _Prepared(Record):
    """A file that is written whole, under another name."""

    temporary: str
    path: str


def refusal_of(found: Run, name: str, stdin: str | None, *, writes: bool) -> str | None:
    """Why a file is not to be edited; None where it may be.

    Args:
        found: what was read.
        name: the file as findings name it.
        stdin: the name of what was read from standard input, if anything was.
        writes: whether the file itself is to be changed.
    """
    if name == stdin:
        return "standard input cannot be written" if writes else None
    status = next((one for one in found.files if one.path == name), None)
    if status is None:
        return f"{name} was not given: name it as well"
    if status.followed:
        return f"{name} is only named by another file: give it as well"
    if status.state != "judged":
        return f"{name} was not judged"
    return _refusal_on_disk(name)


def _refusal_on_disk(name: str) -> str | None:
    target = os.path.realpath(name)
    if os.path.islink(name) or target != os.path.abspath(name):
        folder = os.path.realpath(os.path.dirname(os.path.abspath(name)))
        top = repository_root(folder) or os.path.realpath(os.curdir)
        if os.path.commonpath([top, target]) != top:
            return f"{name} is a link that leads out of {top}"
    try:
        mode = os.stat(target).st_mode
    except OSError as error:
        return f"{name}: {error.strerror}"
    if not mode & _WRITABLE or not os.access(target, os.W_OK):
        return f"{name} is read-only"
    return None


def write_all(texts: Mapping[str, tuple[str, str]]) -> None:
    """Write files: all of them whole under other names, then each in its place.

    Args:
        texts: by path, what was read and what is to be written.

    Raises:
        NotWritten: a file has changed since, or cannot be written; none was.
    """
    with ExitStack() as cleaning:
        prepared: list[_Prepared] = []
        for path, (old, new) in texts.items():
            try:
                prepared.append(_prepare(path, old, new, cleaning))
            except OSError as error:
                raise _not_written(path, error) from error
        for path, (old, _) in texts.items():
            _demand_unchanged(path, old)
        for one in prepared:
            try:
                os.replace(one.temporary, one.path)
            except OSError as error:
                raise _not_written(one.path, error) from error


def _not_written(path: str, error: OSError) -> NotWritten:
    return NotWritten(f"{path}: not fixed, and no other file: {error.strerror}")


def _prepare(path: str, old: str, new: str, cleaning: ExitStack) -> _Prepared:
    """Write the new text beside a file, with its mode and its byte order mark."""
    _demand_unchanged(path, old)
    target = os.path.realpath(path)
    with open(target, "rb") as file:
        mark = _BOM if file.read(len(_BOM)) == _BOM else b""
    folder, base = os.path.split(target)
    temporary = os.path.join(folder, f".{base}.{os.getpid()}.fix")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(temporary, flags, 0o600)
    cleaning.callback(_remove, temporary)
    with open(handle, "wb") as file:
        file.write(mark + new.encode())
        file.flush()
        os.fsync(file.fileno())
    status = os.stat(target)
    with suppress(OSError):  # only root may give a file away
        os.chown(temporary, status.st_uid, status.st_gid)
    os.chmod(temporary, stat.S_IMODE(status.st_mode))
    return _Prepared(temporary, target)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _demand_unchanged(path: str, old: str) -> None:
    try:
        is_same = read_file_text(path) == old
    except ReadError as error:
        message = f"{error}; no file was changed"
        raise NotWritten(message) from error
    if not is_same:
        message = f"{path} changed while it was judged: no file was fixed; run again"
        raise NotWritten(message)
