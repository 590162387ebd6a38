"""Patterns of paths in settings and waivers: `configs/**/*.yaml`.

Patterns come from files, and files are hostile: what a pattern costs grows with its
length times that of the path, which no translation to regular expressions promises.
"""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

MARK = ".git"  # a folder, or a file in a worktree or submodule


@lru_cache(maxsize=1024)
def repository_root(folder: str) -> str | None:
    """Return the folder of the repository that holds a folder; None outside of any."""
    here = os.path.abspath(folder)
    while True:
        if os.path.exists(os.path.join(here, MARK)):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def project_root() -> str:
    """Return the repository of the current directory, or that directory."""
    return repository_root(os.getcwd()) or os.getcwd()


def path_within(path: str, root: str) -> str | None:
    """Return a path as seen from a folder, with slashes; None for one elsewhere."""
    relative = os.path.relpath(os.path.abspath(path), root)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    return relative.replace(os.sep, "/")


_ANY_FOLDERS = "**"
_T = TypeVar("_T")


def matches(pattern: str, path: str) -> bool:
    """Return whether a path, relative to the folder of the pattern, is meant by it.

    `*` is any part of one name, `?` one character, `**` any folders. A pattern without
    a slash is a name in any folder; one that ends in a slash is all that lies there.
    """
    return _fits(_parts(pattern), path.split("/"), _ANY_FOLDERS, _is_name)


@lru_cache(maxsize=1024)
def _parts(pattern: str) -> tuple[str, ...]:
    bare = pattern.removeprefix("./")
    if "/" not in bare:
        return (_ANY_FOLDERS, bare)
    parts = bare.removeprefix("/").split("/")
    return (*parts[:-1], parts[-1] or _ANY_FOLDERS)


def _is_name(pattern: str, name: str) -> bool:
    return _fits(pattern, name, "*", lambda text, other: text in {"?", other})


def _fits(
    pattern: Sequence[_T],
    text: Sequence[_T],
    any_number: _T,
    is_same: Callable[[_T, _T], bool],
) -> bool:
    """Return whether a pattern fits in which one item stands for any number of others.

    Only the last such item is ever widened again: an earlier one that took more would
    leave less to the rest.
    """
    at = here = 0
    widened: tuple[int, int] | None = None
    while here < len(text):
        if at < len(pattern) and pattern[at] == any_number:
            widened = at, here
            at += 1
        elif at < len(pattern) and is_same(pattern[at], text[here]):
            at, here = at + 1, here + 1
        elif widened is not None:
            widened = widened[0], widened[1] + 1
            at, here = widened[0] + 1, widened[1]
        else:
            return False
    return all(item == any_number for item in pattern[at:])
