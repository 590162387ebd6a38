"""Reads the evidence of a fleet: one snapshot or result line after another."""

import gzip
import json
import os
import stat
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, BinaryIO

from speccheck.validator.evidence.fleet import Unread
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.reading import MAXIMUM_BYTES

Decode = Callable[[bytes], Any]


def decoded(
    data: bytes,
    constant: Callable[[str], object],
) -> Any:  # noqa: ANN401 - any JSON
    """Return the content of some bytes; `constant` gets NaN and the like, and raises.

    Both readers give the same: what orjson refuses, such as integers of more than 64
    bits, is left to the other one, which also says what is wrong.

    Raises ValueError and RecursionError as `json.loads` does.
    """
    fast = _fast()
    if fast is not None:
        try:
            return fast(data)
        except ValueError:
            pass
    return json.loads(data, parse_constant=constant)


@cache
def _fast() -> Decode | None:
    try:
        import orjson  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    loads: Decode = orjson.loads
    return loads


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
    """Return the evidence below files and folders.

    Raises NoFleet for what is neither.
    """
    single: list[str] = []
    lines: list[str] = []
    unread: list[Unread] = []
    ignored = 0
    for argument in arguments:
        result = _below(argument, unread) if os.path.isdir(argument) else (argument,)
        for path in result:
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
    chunks = [*_in_chunks(single), *(c for line in lines for c in _chunks_of(line))]
    return Listing(tuple(chunks), len(single), ignored, tuple(unread))


def is_result(path: str) -> bool:
    """Return whether a file of that name holds a result line, and no snapshot."""
    return path.removesuffix(_PACKED).endswith(_RESULT)


def _is_single(path: str) -> bool:
    name = os.path.basename(path).removesuffix(_PACKED)
    return name.endswith(".json")


def _is_manifest(path: str) -> bool:
    name = os.path.basename(path)
    return name == _MANIFEST or name.endswith(f".{_MANIFEST}")


def _below(folder: str, unread: list[Unread]) -> Iterator[str]:
    """Yield the files of a folder and of those in it; what cannot be read is kept."""

    def failed(error: OSError) -> None:
        where = str(error.filename or folder)
        if where == folder:
            message = f"{folder}: cannot be read: {error.strerror}"
            raise NoFleet(message)
        unread.append(Unread(where, f"cannot be read: {error.strerror}"))

    for where, folders, names in os.walk(folder, onerror=failed):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        links = (
            folder for folder in folders if os.path.islink(os.path.join(where, folder))
        )
        for name in sorted((*names, *links)):
            if not name.startswith("."):
                yield os.path.join(where, name)


def _in_chunks(files: Sequence[str]) -> Iterator[Chunk]:
    for first in range(0, len(files), _SNAPSHOTS_AT_ONCE):
        some = tuple(files[first : first + _SNAPSHOTS_AT_ONCE])
        yield Chunk(some, size=len(some))


def _chunks_of(path: str) -> Iterator[Chunk]:
    """Yield lines of a file, in parts where these can be found without reading it."""
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


SNAPSHOT = "speccheck-snapshot/"
RESULT = "speccheck-node-result/"
_KNOWN = {SNAPSHOT: ("1",), RESULT: ("1",)}
_MOST_NAME = 255
_AT_ONCE = 1_000_000  # bytes of a line that is skipped
_MOST_SKIPPED = 2_000_000_000  # bytes of one, in a file that is packed
_SUFFIXES = (_PACKED, ".json", ".result")
_BOM = b"\xef\xbb\xbf"


class HostReport(Record):
    """What one node reported: a snapshot or a result line.

    file: where it stands, with the number of its line. name: of the node.
    """

    file: str
    name: str
    content: dict[str, Any]
    is_result: bool = False

    @property
    def taken(self) -> float | None:
        """When it was gathered, in seconds since 1970."""
        return seconds_of(self.content.get("taken"))


def reports(chunk: Chunk) -> Generator[HostReport | Unread]:
    """Yield what each node reported, or why that cannot be read."""
    if chunk.is_lines:
        yield from _of_lines(chunk)
        return
    for path in chunk.files:
        try:
            data = _bytes(path)
        except (OSError, EOFError, zlib.error) as error:
            yield Unread(path, _cannot(error), name_in(path))
            continue
        yield _report(data, path, name_in(path))


def name_in(path: str) -> str:
    """Return the name of a node as its file has it."""
    name = os.path.basename(path)
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def seconds_of(text: object) -> float | None:
    """Return a time of a report in seconds since 1970; None for what is none."""
    if not isinstance(text, str):
        return None
    try:
        result = datetime.fromisoformat(text)
        return result.timestamp() if result.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _bytes(path: str) -> bytes:
    size = os.stat(path).st_size
    with _opened(path) as file:
        if path.endswith(_PACKED) or size > MAXIMUM_BYTES:
            return file.read(MAXIMUM_BYTES + 1)
        # As much as there is: a buffer for the most that there may be costs more.
        return file.read(size + 1)


def _opened(path: str, buffering: int = 0) -> BinaryIO:
    # To open a pipe is to wait for a writer, and a device never ends.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(None, "is no regular file")
    if path.endswith(_PACKED):
        packed: Any = gzip.open(path, "rb")  # noqa: SIM115 - the caller closes it
        opened: BinaryIO = packed
        return opened
    return open(path, "rb", buffering=buffering)


def _of_lines(chunk: Chunk) -> Iterator[HostReport | Unread]:
    (path,) = chunk.files
    try:
        with _opened(path, buffering=-1) as file:
            yield from _lines(chunk, path, file)
    except (OSError, EOFError, zlib.error) as error:
        yield Unread(path, _cannot(error))


def _lines(chunk: Chunk, path: str, file: BinaryIO) -> Iterator[HostReport | Unread]:
    number, position = 0, chunk.start
    if chunk.start:
        file.seek(chunk.start - 1)
        # The line that began before belongs to the chunk before.
        position += _skipped(file, chunk.end - position + 1) - 1
    while chunk.end < 0 or position < chunk.end:
        line = file.readline(MAXIMUM_BYTES + 1)
        if not line:
            return
        number += 1
        where = f"{path}:{number}" if not chunk.start else f"{path}@{position}"
        position += len(line)
        start = position
        if len(line) > MAXIMUM_BYTES:
            yield Unread(where, f"a line of more than {MAXIMUM_BYTES:,} bytes")
            if not line.endswith(b"\n"):
                most = chunk.end - position if chunk.end >= 0 else _MOST_SKIPPED
                position += _skipped(file, most)
                if chunk.end < 0 and most <= position - start:
                    yield Unread(path, "the lines that follow were not read")
                    return
        elif line.strip():
            yield _report(line, where, "")


def _skipped(file: BinaryIO, most: int) -> int:
    """Read to the end of a line, or beyond so many bytes; returns how many these are.

    A file without an end of a line would else be in memory as a whole.
    """
    count = 0
    while count < most:
        piece = file.readline(_AT_ONCE)
        count += len(piece)
        if not piece or piece.endswith(b"\n"):
            break
    return count


def _report(data: bytes, file: str, name: str) -> HostReport | Unread:
    content = _content(data)
    if isinstance(content, str):
        return Unread(file, content, name)
    schema = content.get("schema")
    for family, known in _KNOWN.items():
        if isinstance(schema, str) and schema.startswith(family):
            version = schema.removeprefix(family)
            if version not in known:
                problem = f"{schema[:40]}: of a newer speccheck, or of none"
                return Unread(file, problem, name)
            text = _name(content, family) or name or file
            return HostReport(file, text, content, is_result=family == RESULT)
    expected = "a result line" if is_result(file) else "a snapshot of speccheck probe"
    return Unread(file, f"is not {expected}", name)


def _content(data: bytes) -> dict[str, Any] | str:
    """Return the object that some bytes hold, or what is wrong with them."""
    if not data.strip():
        return "is empty: what wrote it was killed, or the disk was full"
    if len(data) > MAXIMUM_BYTES:
        return f"holds more than {MAXIMUM_BYTES:,} bytes"
    try:
        result = decoded(data.removeprefix(_BOM), _no_number)
    except (ValueError, RecursionError) as error:
        return _fault(error, data)
    return result if isinstance(result, dict) else "is no object"


class _NoNumberError(ValueError):
    """A value that Python reads and JSON has not."""


def _no_number(text: str) -> float:
    message = f"holds {text}, which is no number"
    raise _NoNumberError(message)


def _fault(error: Exception, data: bytes) -> str:
    if isinstance(error, json.JSONDecodeError):
        end = len(data.rstrip())
        if error.pos >= end - 1 or error.msg.startswith("Unterminated string"):
            return f"ends within its text, after {end:,} bytes: it was half written"
        return f"is no JSON: {error.msg} at line {error.lineno}"
    if isinstance(error, _NoNumberError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return "is no text of UTF-8"
    if isinstance(error, RecursionError):
        return "nests too deep"
    return "holds a number that is too long"


def _name(content: dict[str, Any], family: str) -> str:
    """Return the name by which the engine knows the node."""
    result = content if family == RESULT else content.get("launch")
    name = result.get("node") if isinstance(result, dict) else None
    return name[:_MOST_NAME] if isinstance(name, str) else ""


def _cannot(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or "damaged"
    return f"cannot be read: {reason}"
