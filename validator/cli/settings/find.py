"""Which settings files hold for a folder, found with a few calls for each folder."""

import os
import stat
from typing import TYPE_CHECKING

from speccheck.validator.cli.settings.names import (
    MAXIMUM_BYTES,
    OWN_NAME,
    SHARED_NAME,
    SettingsError,
    shown,
)
from speccheck.validator.engine.paths import MARK

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.load import SettingsFile

_MENTION = b"speccheck"


class SettingsFiles:
    """Settings files by folder; each folder is looked into once, each read once."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._above: dict[str, tuple[str, ...]] = {}
        self._loaded: dict[str, SettingsFile | None] = {}

    def above(self, folder: str) -> tuple[str, ...]:
        """The settings files from a folder up to the top of its repository.

        The closest comes first, and it alone gives values; locks of all others hold as
        well. Outside of a repository it goes up to the root of the file system.
        Raises SettingsError for a file that cannot be read.
        """
        here = os.path.abspath(folder)
        looked_into: list[tuple[str, tuple[str, ...]]] = []
        found: tuple[str, ...] | None = self._above.get(here)
        while found is None:
            looked_into.append((here, self._in(here)))
            above = os.path.dirname(here)
            if above == here or os.path.exists(os.path.join(here, MARK)):
                found = ()
            else:
                here = above
                found = self._above.get(here)
        for one, files in reversed(looked_into):
            found = self._above[one] = files + found
        return found

    def load(self, path: str) -> "SettingsFile | None":
        """What a file sets; None for a pyproject.toml that sets nothing of ours.

        Raises SettingsError.
        """
        if path not in self._loaded:
            # Most runs have no settings file.
            from speccheck.validator.cli.settings.load import load  # noqa: PLC0415

            self._loaded[path] = load(path)
        return self._loaded[path]

    def _in(self, folder: str) -> tuple[str, ...]:
        found: list[str] = []
        own = os.path.join(folder, OWN_NAME)
        if _is_there(own):
            found.append(own)
        shared = os.path.join(folder, SHARED_NAME)
        if _is_there(shared) and _mentions(shared) and self.load(shared) is not None:
            found.append(shared)
        return tuple(found)


def _is_there(path: str) -> bool:
    try:
        return not stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _mentions(path: str) -> bool:
    """Whether a file of other tools may hold settings of this one."""
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
    """Whether a text may have the table `tool.speccheck`; most do not even name it."""
    if _MENTION not in content:
        return False
    lines = [one.strip() for one in content.split(b"\n") if _MENTION in one]
    if any(b"tool" in one.partition(_MENTION)[0] for one in lines):
        return True
    is_key = any(one.strip(b"\"'").startswith(_MENTION) for one in lines)
    return is_key and b"[tool]" in content.replace(b" ", b"")
