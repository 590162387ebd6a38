"""Which settings files hold for a run and for each of its plans.

A run that has none costs a few looks into each folder.
"""

import os
import stat
from collections.abc import Callable

from speccheck.validator.engine.paths import MARK

OWN_NAME = "speccheck.toml"
SHARED_NAME = "pyproject.toml"
MAXIMUM_BYTES = 1_048_576


class SettingsError(Exception):
    """A settings file is wrong; the message names file, line and remedy."""


def shown(path: str) -> str:
    """Return a path as reports call it: as seen from here, unless that is longer."""
    return min((os.path.relpath(path), path), key=len)


_MENTION = b"speccheck"


class SettingsPaths:
    """Settings files by folder; each folder is looked into once."""

    def __init__(self, sets_something: Callable[[str], bool]) -> None:
        """Take what says whether a pyproject.toml sets anything of ours."""
        self._sets_something = sets_something
        self._above: dict[str, tuple[str, ...]] = {}

    def above(self, folder: str) -> tuple[str, ...]:
        """Return the settings files from a folder up to the top of its repository.

        The closest comes first, and it alone gives values; locks of all others hold as
        well. Outside of a repository it goes up to the root of the file system.
        Raises SettingsError for a file that cannot be read.
        """
        here = os.path.abspath(folder)
        looked_into: list[tuple[str, tuple[str, ...]]] = []
        result: tuple[str, ...] | None = self._above.get(here)
        while result is None:
            looked_into.append((here, self._in(here)))
            above = os.path.dirname(here)
            if above == here or os.path.exists(os.path.join(here, MARK)):
                result = ()
            else:
                here = above
                result = self._above.get(here)
        for text, files in reversed(looked_into):
            result = self._above[text] = files + result
        return result

    def _in(self, folder: str) -> tuple[str, ...]:
        texts: list[str] = []
        own = os.path.join(folder, OWN_NAME)
        if _is_there(own):
            texts.append(own)
        shared = os.path.join(folder, SHARED_NAME)
        if _is_there(shared) and _mentions(shared) and self._sets_something(shared):
            texts.append(shared)
        return tuple(texts)


def _is_there(path: str) -> bool:
    try:
        return not stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _mentions(path: str) -> bool:
    """Return whether a file of other tools may hold settings of this one."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return _has_table(file.read(MAXIMUM_BYTES))
    except OSError as error:
        message = f"{shown(path)}: cannot be read: {error.strerror}: make it readable, "
        message += "or judge without settings: --isolated"
        raise SettingsError(message) from error


def _has_table(content: bytes) -> bool:
    """Return whether a text may have the table `tool.speccheck`.

    Most do not even name it.
    """
    if _MENTION not in content:
        return False
    lines = [part.strip() for part in content.split(b"\n") if _MENTION in part]
    if any(b"tool" in line.partition(_MENTION)[0] for line in lines):
        return True
    is_key = any(line.strip(b"\"'").startswith(_MENTION) for line in lines)
    return is_key and b"[tool]" in content.replace(b" ", b"")
