"""`speccheck FILE ... --watch`: judge again whenever something that was read changes.

Each judgement is a process of its own, forked from this one: what a run keeps in memory
of files can never be older than the files. What is watched is what that process opened
and listed: inherited and named files, settings and waivers too, without a list of kinds
that could forget one.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import BinaryIO

from speccheck.validator.cli.settings.files import OWN_NAME, SHARED_NAME

# What tells that a file changed: when, how long, and which one it is; None: not there.
State = tuple[int, ...] | None
Seen = dict[str, State]
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"
_PAUSE_SECONDS = 0.3  # engineering default: an editor's save is seen while one looks up
_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def watch(judge: Callable[[], int]) -> int:
    """Judge, and again after each change, until an interrupt (exit code 130).

    Returns the exit code of a judgement that looked at no file: the command line is
    wrong, and no change of a file would mend it.
    """
    while True:
        if sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
            sys.stdout.flush()
        code, before = _judged(judge)
        if not before:
            return code
        count = sum(os.path.isfile(path) for path in before)
        noun = "file" if count == 1 else "files"
        sys.stderr.write(f"\nwatching {count:,} {noun}; Ctrl-C ends\n")
        sys.stderr.flush()
        _wait(before)


def _wait(before: Seen) -> None:
    """Return when something changed and then stood still: a save may take a while."""
    last = before
    while True:
        time.sleep(_PAUSE_SECONDS)
        now = _looked_at(before)
        if now == last != before:
            return
        last = now


def _judged(judge: Callable[[], int]) -> tuple[int, Seen]:
    """Judge in a process of its own.

    Returns its exit code, and what it read, as it was just before.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as result:
            _end_child(judge, result)
    os.close(writing)
    with os.fdopen(reading, "rb") as result:
        text = result.read()
    _, status = os.waitpid(child, 0)
    read: dict[str, list[int] | None] = json.loads(text) if text else {}
    seen = {
        path: None if numbers is None else tuple(numbers)
        for path, numbers in read.items()
    }
    return os.waitstatus_to_exitcode(status), seen


def _end_child(judge: Callable[[], int], result: BinaryIO) -> None:
    """Judge, report what was read, and end the process in any case."""
    seen: Seen = {}
    code = 1

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.rename" and isinstance(arguments[1], str):
            seen.pop(arguments[1], None)  # a report: looked at before it was written
        is_read = event == "open" and not (_flags(arguments) & _WRITES)
        if (is_read or event in {"os.scandir", "os.listdir"}) and arguments:
            path = arguments[0]
            if isinstance(path, str | bytes):
                name = os.fsdecode(path)
                if name not in seen and not _is_own(name):
                    seen[name] = _state(name)

    try:
        sys.addaudithook(note)
        code = judge()
        sys.stdout.flush()
        for folder in {os.path.dirname(os.path.abspath(text)) for text in seen}:
            for name in (OWN_NAME, SHARED_NAME):  # settings that may come to be
                seen.setdefault(path := os.path.join(folder, name), _state(path))
        result.write(json.dumps(seen).encode())
        result.flush()
    finally:
        os._exit(code)


def _flags(arguments: tuple[object, ...]) -> int:
    """Return how a file was opened, by the audit event `open` (path, mode, flags)."""
    flags = arguments[2] if len(arguments) > 2 else 0  # noqa: PLR2004 - as documented
    return flags if isinstance(flags, int) else 0


def _is_own(path: str) -> bool:
    """Return whether a path is the program's own, or the machine's."""
    absolute = os.path.abspath(path)
    folders = (_OWN, sys.prefix, sys.base_prefix, "/proc")
    return absolute.startswith(tuple(folder + os.sep for folder in folders))


def _looked_at(paths: Iterable[str]) -> Seen:
    return {path: _state(path) for path in paths}


def _state(path: str) -> State:
    try:
        result = os.stat(path)
    except OSError:
        return None
    return result.st_mtime_ns, result.st_size, result.st_ino
