"""Which files hold the evidence of a fleet, and how processes share them."""

import os
from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.evidence.fleet import Unread
from speccheck.validator.evidence.record import Record

_LINES = (".jsonl", ".ndjson")
_PACKED = ".gz"
_RESULT = ".result.json"
_MANIFEST = "simulation.json"  # that of `speccheck simulate`: no node
_MOST_FILES = 200_000
_SNAPSHOTS_AT_ONCE = 250
_BYTES_AT_ONCE = 20_000_000


class NoFleet(Exception):  # noqa: N818 - a usage error with its own message
    """An argument that is no evidence of a fleet, or that cannot be read."""


class Chunk(Record):
    """Some evidence: files of one snapshot or result each, or lines of one file.

    start, end: of the bytes of a file of lines, whose lines begin there; end -1 for all
    that follow. size: bytes, about.
    """

    files: tuple[str, ...]
    is_lines: bool = False
    start: int = 0
    end: int = -1
    size: int = 0


class Listing(Record):
    """What there is to read.

    snapshots: how many files of one snapshot or result line. ignored: files of other
    kinds in folders, and links to folders.
    """

    chunks: tuple[Chunk, ...]
    snapshots: int
    ignored: int
    unread: tuple[Unread, ...] = ()


def listing(arguments: Iterable[str]) -> Listing:
    """The evidence below files and folders; raises NoFleet for what is neither."""
    single: list[str] = []
    lines: list[str] = []
    unread: list[Unread] = []
    ignored = 0
    for argument in arguments:
        found = _below(argument, unread) if os.path.isdir(argument) else (argument,)
        for path in found:
            is_named = path == argument
            if is_named and not os.path.exists(path):
                message = f"{path}: no such file or folder"
                raise NoFleet(message)
            if _is_manifest(path):
                continue
            if path.removesuffix(_PACKED).endswith(_LINES):
                lines.append(path)
            elif is_named or _is_single(path):
                single.append(path)
            else:
                ignored += 1
            if len(single) > _MOST_FILES:
                message = f"{argument}: more than {_MOST_FILES:,} files"
                raise NoFleet(message)
    single = list(dict.fromkeys(single))
    chunks = [*_in_chunks(single), *(c for one in lines for c in _chunks_of(one))]
    return Listing(tuple(chunks), len(single), ignored, tuple(unread))


def is_result(path: str) -> bool:
    """Whether a file of that name holds a result line, and no snapshot."""
    return path.removesuffix(_PACKED).endswith(_RESULT)


def _is_single(path: str) -> bool:
    name = os.path.basename(path).removesuffix(_PACKED)
    return name.endswith(".json")


def _is_manifest(path: str) -> bool:
    name = os.path.basename(path)
    return name == _MANIFEST or name.endswith(f".{_MANIFEST}")


def _below(folder: str, unread: list[Unread]) -> Iterator[str]:
    """The files of a folder and of those in it; what cannot be read is kept."""

    def failed(error: OSError) -> None:
        where = str(error.filename or folder)
        if where == folder:
            message = f"{folder}: cannot be read: {error.strerror}"
            raise NoFleet(message)
        unread.append(Unread(where, f"cannot be read: {error.strerror}"))

    for where, folders, names in os.walk(folder, onerror=failed):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        links = (one for one in folders if os.path.islink(os.path.join(where, one)))
        for name in sorted((*names, *links)):
            if not name.startswith("."):
                yield os.path.join(where, name)


def _in_chunks(files: Sequence[str]) -> Iterator[Chunk]:
    for first in range(0, len(files), _SNAPSHOTS_AT_ONCE):
        some = tuple(files[first : first + _SNAPSHOTS_AT_ONCE])
        yield Chunk(some, size=len(some))


def _chunks_of(path: str) -> Iterator[Chunk]:
    """The lines of a file, in parts where these can be found without reading it."""
    try:
        size = os.path.getsize(path)
    except OSError:
        size = 0  # what is the matter is told when it is read
    if path.endswith(_PACKED) or size <= _BYTES_AT_ONCE:
        yield Chunk((path,), is_lines=True, size=size)
        return
    for start in range(0, size, _BYTES_AT_ONCE):
        end = min(start + _BYTES_AT_ONCE, size)
        yield Chunk((path,), is_lines=True, start=start, end=end, size=end - start)
