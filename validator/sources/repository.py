"""Where a file looks for those that it names: in its repository, never outside of it.

The repository of a file is the folder above it that git knows. Without one it is the
working folder, for what lies in it; a file elsewhere belongs to none, and what it names
is found by the path alone.
"""

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache

from speccheck.validator.evidence.lazy_pattern import lazy_pattern

_MOST_FOLDERS_UP = 12
_MOST_MODULES = 2_000
_MOST_OF_A_MODULE = 200_000  # characters
_MOST_OF_A_COPY = 8_000_000  # characters
_GIT = ".git"
_WORD = lazy_pattern(r"[A-Za-z_]\w{2,}")


def find_named(
    path: str, target: str, folders: Iterable[str] = (".",), *, upwards: bool = True
) -> str | None:
    """Return the path of a file that another one names; None where it is not here.

    Args:
        path: of the file that names it.
        target: as named; an absolute path is one of another machine.
        folders: where it is looked for first, relative to that of the naming file.
        upwards: whether it is looked for in the working folder and above as well.
    """
    if not target or os.path.isabs(target) or "\0" in target:
        return None
    home = os.path.dirname(path)
    homes = [os.path.join(home, folder) for folder in folders]
    if upwards:
        homes += ["", *_above(home)]
    for folder in homes:
        candidate = os.path.normpath(os.path.join(folder, target))
        if os.path.isfile(candidate) and is_inside(candidate, home):
            return candidate
    return None


def find_module(path: str, name: str) -> str | None:
    """Return the path of a Python module that a file of a repository imports.

    Args:
        path: of the file.
        name: dotted; begins with as many dots as the import is relative by.
    """
    dots = len(name) - len(name.lstrip("."))
    steps = "/".join(step for step in name[dots:].split(".") if step)
    home = os.path.dirname(path)
    if dots:
        homes = [os.path.join(home, *[".."] * (dots - 1))]
    else:
        above = [home, *_above(home)]
        homes = [*above, *(os.path.join(folder, "src") for folder in above)]
    for folder in homes:
        base = os.path.join(folder, steps) if steps else folder
        for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
            if os.path.isfile(candidate) and is_inside(candidate, home):
                return os.path.normpath(candidate)
    return None


def find_function(path: str, package: str, name: str) -> tuple[str, str] | None:
    """Return the file of a Python package that defines a function, and its name there.

    Args:
        path: of the file in whose repository the package is.
        package: dotted.
        name: of the function, or another one that a module imports it as.
    """
    start = find_module(path, package)
    if start is None or not name.isidentifier():
        return None
    alias = lazy_pattern(rf"\b([A-Za-z_]\w*) +as +{name}\b")
    definition, imported = f"def {name}(", f" as {name}"
    real = ""
    for file, text in _modules_below(os.path.dirname(start)):
        if definition in text:
            return file, name
        match = alias.search(text) if not real and imported in text else None
        real = match[1] if match is not None else real
    if not real:
        return None
    for file, text in _modules_below(os.path.dirname(start)):
        if f"def {real}(" in text:
            return file, real
    return None


def _modules_below(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the Python files of a package with their texts, as far as they are read."""
    count = 0
    for home, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            count += 1
            if count > _MOST_MODULES:
                return
            file = os.path.join(home, name)
            try:
                with open(file, encoding="utf-8", errors="replace") as stream:
                    yield file, stream.read(_MOST_OF_A_MODULE)
            except OSError:
                continue


def holds_package(path: str, packages: Iterable[str]) -> bool:
    """Return whether a Python package stands beside a file, or above in its repository.

    Args:
        path: of the file.
        packages: by the folder that holds `__init__.py`, as it lies in a repository.
    """
    return _package_folder(path, packages) is not None


def _package_folder(path: str, packages: Iterable[str]) -> str | None:
    wanted = (*packages,)
    folder = os.path.dirname(os.path.abspath(path))
    top = repository_of(folder) if wanted else None
    while top is not None and _lies_in(folder, top):
        for package in wanted:
            if os.path.isfile(os.path.join(folder, package, "__init__.py")):
                return os.path.join(folder, package)
        folder = os.path.dirname(folder)
    return None


def words_of_copy(path: str, packages: Iterable[str]) -> frozenset[str]:
    """Return the names and words in a copy of a package that `holds_package` finds."""
    folder = _package_folder(path, packages)
    return frozenset() if folder is None else _words_below(folder)


def words_of_programs(path: str) -> frozenset[str]:
    """Return the names and words in the Python files of a file's repository."""
    top = repository_of(os.path.dirname(os.path.abspath(path)))
    return frozenset() if top is None else _words_below(top)


@lru_cache(maxsize=4)  # files of one repository come one after the other
def _words_below(folder: str) -> frozenset[str]:
    words: set[str] = set()
    read = 0
    for _, text in _modules_below(folder):
        words.update(_WORD.findall(text))
        read += len(text)
        if read > _MOST_OF_A_COPY:
            break
    return frozenset(words)


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path leads into the repository of a folder, links followed."""
    root = repository_of(os.path.abspath(folder))
    return root is None or _lies_in(os.path.realpath(path), os.path.realpath(root))


def repository_of(folder: str) -> str | None:
    """Return the repository of a folder, by its absolute path; None where it has none.

    The working folder is none that holds all files, such as `/`.
    """
    top = _git_root(folder)
    if top is None:
        here = os.getcwd()
        if here != os.path.dirname(here) and _lies_in(folder, here):
            top = here
    return top


def _lies_in(path: str, folder: str) -> bool:
    return f"{path}{os.sep}".startswith(folder.rstrip(os.sep) + os.sep)


def _git_root(folder: str) -> str | None:
    """Return the nearest folder above, or this one, that git knows."""
    for _ in range(_MOST_FOLDERS_UP):
        if os.path.exists(os.path.join(folder, _GIT)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return None


def _above(folder: str) -> Iterator[str]:
    """Yield the folders above one, up to the top of its repository in git."""
    here = os.path.abspath(folder)
    root = _git_root(here)
    while root is not None and here != root:
        here = os.path.dirname(here)
        yield os.path.relpath(here)
