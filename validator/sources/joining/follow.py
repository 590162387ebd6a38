"""Files that a configuration or a script names and that were not given: read as well.

A training configuration without the engine file that it names is half of one. Only
files beside it, in the working folder or in the repository above it are read, by a
relative path with the suffix of a configuration; nothing is said of those that are not
there, since the values that they would state are unknown for that reason already.
"""

import os
from collections.abc import Iterator, Sequence

from speccheck.validator.sources.files import ReadFile, read_file
from speccheck.validator.sources.registry import Readers

_SUFFIXES = (".yaml", ".yml", ".json", ".hjson", ".toml")
_MOST_FOLDERS_UP = 6
_MOST_FILES = 100


def followed(files: Sequence[ReadFile], readers: Readers) -> list[ReadFile]:
    """The files that the given ones name, and those that they name in turn."""
    known = {os.path.normpath(file.status.path) for file in files}
    bases = {os.path.basename(path) for path in known}
    found: list[ReadFile] = []
    waiting = list(files)
    while waiting and len(found) < _MOST_FILES:
        file = waiting.pop(0)
        for target in _targets(file):
            if os.path.basename(target) in bases:
                continue
            path = _find(file.status.path, target)
            if path is None or path in known:
                continue
            known.add(path)
            bases.add(os.path.basename(path))
            _, read = read_file(path, named=False, readers=readers)
            new = [
                one._replace(status=one.status._replace(followed=True)) for one in read
            ]
            found += new
            waiting += new
    return found


def _targets(file: ReadFile) -> Iterator[str]:
    for reading in file.readings:
        for reference in reading.references:
            target = reference.target
            if target.endswith(_SUFFIXES) and not os.path.isabs(target):
                yield target


def _find(path: str, target: str) -> str | None:
    """Where a name leads: beside the file, in the working folder, or above the file."""
    folder = os.path.dirname(path)
    for home in (folder, "", *_above(folder)):
        candidate = os.path.normpath(os.path.join(home, target))
        if os.path.isfile(candidate):
            return candidate
    return None


def _above(folder: str) -> list[str]:
    """The folders above one, up to the top of its repository; none outside of one."""
    here = os.path.abspath(folder)
    found: list[str] = []
    for _ in range(_MOST_FOLDERS_UP):
        if os.path.exists(os.path.join(here, ".git")):
            return found
        here = os.path.dirname(here)
        found.append(os.path.relpath(here))
    return []
