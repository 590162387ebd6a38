"""Reads the files of a source tree; nothing of them is imported or executed."""

import ast
import os
import warnings
from collections.abc import Iterator
from typing import NamedTuple

LARGEST_FILE = 4_000_000  # bytes
MOST_FILES = 20_000
DEEPEST_FOLDER = 16
_MARKED = (".go", ".c", ".h")
_OMITTED = frozenset({"tests", "test", "testdata", "node_modules", "vendor", "docs"})


class PythonFile(NamedTuple):
    """A module that parses; its name is relative to the tree."""

    name: str
    module: ast.Module


class SourceTree(NamedTuple):
    """What was read, and what was passed over with the reason."""

    modules: tuple[PythonFile, ...]
    marked: tuple[tuple[str, str], ...]
    passed_over: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of all files that were read."""
        return [
            *(file.name for file in self.modules),
            *(file[0] for file in self.marked),
        ]


def read_tree(root: str) -> SourceTree:
    """Read the Python, Go and C files below a folder, or a single file."""
    modules: list[PythonFile] = []
    marked: list[tuple[str, str]] = []
    passed_over: list[str] = []
    for number, path in enumerate(_paths(root)):
        if number == MOST_FILES:
            passed_over.append(f"all files after the first {MOST_FILES}")
            break
        name = os.path.relpath(
            path, root if os.path.isdir(root) else os.path.dirname(root) or "."
        )
        name = name.replace(os.sep, "/")
        try:
            if os.path.getsize(path) > LARGEST_FILE:
                passed_over.append(f"{name}: larger than {LARGEST_FILE} bytes")
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError as error:
            passed_over.append(f"{name}: {error.strerror}")
            continue
        if not path.endswith(".py"):
            marked.append((name, text))
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                modules.append(PythonFile(name, ast.parse(text)))
        except SyntaxError as error:
            place = f"{name}:{error.lineno}" if error.lineno else name
            passed_over.append(f"{place}: does not parse: {error.msg}")
        except (ValueError, RecursionError, MemoryError) as error:
            passed_over.append(f"{name}: does not parse: {type(error).__name__}")
    return SourceTree(tuple(modules), tuple(marked), tuple(passed_over))


def _paths(root: str) -> Iterator[str]:
    """Yield the paths of source files, in order, without links and tests."""
    if os.path.isfile(root):
        yield root
    for folder, folders, files in os.walk(root):
        depth = os.path.relpath(folder, root).count(os.sep)
        folders[:] = sorted(
            name
            for name in folders
            if depth < DEEPEST_FOLDER and name not in _OMITTED and name[0] != "."
        )
        for name in sorted(files):
            path = os.path.join(folder, name)
            is_test = name.startswith("test_") or name.endswith("_test.go")
            is_source = name.endswith((".py", *_MARKED)) and not is_test
            if is_source and not os.path.islink(path):
                yield path
