"""Which settings files hold for a run and for each of its plans.

A run that has none costs a few looks into each folder.
"""

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING

from speccheck.validator.engine.paths import MARK
from speccheck.validator.evidence.record import Record

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.layer import Layer, Resolved
    from speccheck.validator.cli.settings.load import SettingsFile

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
    """Settings files by folder; each folder is looked into once, each read once."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._above: dict[str, tuple[str, ...]] = {}
        self._loaded: dict[str, SettingsFile | None] = {}

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

    def load(self, path: str) -> "SettingsFile | None":
        """Return what a file sets; None for a pyproject.toml that sets nothing of ours.

        Raises SettingsError.
        """
        if path not in self._loaded:
            # Most runs have no settings file.
            from speccheck.validator.cli.settings.load import load  # noqa: PLC0415

            self._loaded[path] = load(path)
        return self._loaded[path]

    def _in(self, folder: str) -> tuple[str, ...]:
        texts: list[str] = []
        own = os.path.join(folder, OWN_NAME)
        if _is_there(own):
            texts.append(own)
        shared = os.path.join(folder, SHARED_NAME)
        if _is_there(shared) and _mentions(shared) and self.load(shared) is not None:
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
    """Whether a text may have the table `tool.speccheck`; most do not even name it."""
    if _MENTION not in content:
        return False
    lines = [part.strip() for part in content.split(b"\n") if _MENTION in part]
    if any(b"tool" in line.partition(_MENTION)[0] for line in lines):
        return True
    is_key = any(line.strip(b"\"'").startswith(_MENTION) for line in lines)
    return is_key and b"[tool]" in content.replace(b" ", b"")


class Origin(Record):
    """The settings files that count for a plan, or for a run.

    closest: the file that gives values, None for none. above: all from the folder up.
    """

    closest: str | None
    above: tuple[str, ...]


class RunSettings:
    """Finds and reads the settings of a run; each file is read once.

    A run that has none costs a few looks into each folder.
    """

    def __init__(
        self, arguments: Sequence[str], stdin_name: str | None, named: str | None
    ) -> None:
        """Take what the command line gives.

        Args:
            arguments: the files and folders that are judged.
            stdin_name: what the file of standard input is called.
            named: the one settings file for all (`--settings`).

        Raises SettingsError for a named file that is not there.
        """
        self._files = SettingsPaths()
        self._folder = _common_folder(arguments, stdin_name)
        self._named = named if named is None else os.path.abspath(named)
        self._resolved: dict[Origin, Resolved] = {}
        self._layers: dict[tuple[Origin, tuple[tuple[str, str], ...]], Layer] = {}
        if named is not None and not os.path.isfile(named):
            problem = "a folder" if os.path.isdir(named) else "no such file"
            message = f"--settings {named}: {problem}: name a settings file"
            raise SettingsError(message)

    def of_run(self) -> "Layer | None":
        """What holds for all of the run, and for plans that no other file is for."""
        return self._layer(self.origin_in(self._folder), ())

    def of_plan(self, paths: Sequence[str]) -> "Layer | None":
        """What holds for the plan of some files; the first is what it is about."""
        return self._layer(self.origin_of(paths[0]), paths)

    def origin_of(self, path: str) -> Origin:
        """Return the settings files that count for a file."""
        return self.origin_in(os.path.dirname(path))

    def origin_in(self, folder: str) -> Origin:
        """Return the settings files that count in a folder."""
        above = self._files.above(folder)
        if self._named is not None:
            return Origin(self._named, above)
        return Origin(above[0] if above else None, above)

    def reason(self, paths: Sequence[str]) -> str:
        """Which settings were taken, where the files of a plan lie under several."""
        closest = [self.origin_of(path).closest for path in paths]
        if len(set(closest)) <= 1:
            return ""
        first = os.path.basename(paths[0])
        if closest[0] is None:
            return f"no settings, as {first} is judged"
        return f"settings of {shown(closest[0])}, the closest to {first}"

    def _layer(self, origin: Origin, paths: Sequence[str]) -> "Layer | None":
        if origin.closest is None and not origin.above:
            return None
        # Most runs have no settings file.
        from speccheck.validator.cli.settings.layer import (  # noqa: PLC0415
            layer_of,
            patterns_for,
            resolved,
        )

        result = self._resolved.get(origin)
        if result is None:
            result = resolved(self._files, origin.closest, origin.above)
            self._resolved[origin] = result
        patterns = patterns_for(result, paths)
        layer = self._layers.get((origin, patterns))
        if layer is None:
            layer = self._layers[(origin, patterns)] = layer_of(result, patterns)
        return layer


def _common_folder(arguments: Sequence[str], stdin_name: str | None) -> str:
    """The folder that holds all that is judged; the current one where nothing is."""
    folders = [_folder_of(argument, stdin_name) for argument in arguments]
    return os.path.commonpath(folders) if folders else os.getcwd()


def _folder_of(argument: str, stdin_name: str | None) -> str:
    path = (stdin_name or "stdin") if argument == "-" else argument
    is_folder = argument != "-" and os.path.isdir(path)
    return os.path.abspath(path if is_folder else os.path.dirname(path))
