"""The settings of a run: for all of it, and for each of its plans."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from speccheck.validator.cli.settings.find import SettingsFiles
from speccheck.validator.cli.settings.names import SettingsError, shown
from speccheck.validator.evidence.record import Record

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.layer import Layer
    from speccheck.validator.cli.settings.resolve import Resolved


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
        self._files = SettingsFiles()
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
        """The settings files that count for a file."""
        return self.origin_in(os.path.dirname(path))

    def origin_in(self, folder: str) -> Origin:
        """The settings files that count in a folder."""
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
        )
        from speccheck.validator.cli.settings.resolve import resolved  # noqa: PLC0415

        found = self._resolved.get(origin)
        if found is None:
            found = resolved(self._files, origin.closest, origin.above)
            self._resolved[origin] = found
        patterns = patterns_for(found, paths)
        layer = self._layers.get((origin, patterns))
        if layer is None:
            layer = self._layers[(origin, patterns)] = layer_of(found, patterns)
        return layer


def _common_folder(arguments: Sequence[str], stdin_name: str | None) -> str:
    """The folder that holds all that is judged; the current one where nothing is."""
    folders = [_folder_of(one, stdin_name) for one in arguments]
    return os.path.commonpath(folders) if folders else os.getcwd()


def _folder_of(argument: str, stdin_name: str | None) -> str:
    path = (stdin_name or "stdin") if argument == "-" else argument
    is_folder = argument != "-" and os.path.isdir(path)
    return os.path.abspath(path if is_folder else os.path.dirname(path))
