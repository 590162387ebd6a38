"""Where a project begins, and what its files are called from there."""

import os
from functools import lru_cache

MARK = ".git"  # a folder, or a file in a worktree or submodule


@lru_cache(maxsize=1024)
def repository_root(folder: str) -> str | None:
    """The folder of the repository that holds a folder; None outside of any."""
    here = os.path.abspath(folder)
    while True:
        if os.path.exists(os.path.join(here, MARK)):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def project_root() -> str:
    """The repository of the current directory, or that directory."""
    return repository_root(os.getcwd()) or os.getcwd()


def path_within(path: str, root: str) -> str | None:
    """A path as seen from a folder, with slashes; None for one that lies elsewhere."""
    relative = os.path.relpath(os.path.abspath(path), root)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    return relative.replace(os.sep, "/")
