"""What settings files give together, in the words of the command line.

Several files make one set of values: what extends what, and all the locks. Of these a
plan, or the run, gets what holds for it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from speccheck.validator.cli.option_table import Value
from speccheck.validator.cli.settings.files import SettingsError, shown
from speccheck.validator.cli.settings.keys import (
    ADDING,
    EXTEND,
    FACTS_FOR,
    IGNORES_BY_FILE,
    LEVELS,
    MANDATORY,
)
from speccheck.validator.cli.settings.load import SettingsFile, WrittenSetting
from speccheck.validator.engine.paths import matches, path_within
from speccheck.validator.engine.request import FileIgnore, NamedAt, Policy, RaisedLevel
from speccheck.validator.engine.selection import place_text
from speccheck.validator.evidence.finding import Level
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.report.style import printable

_MOST_EXTENDED = 10

Load = Callable[[str], SettingsFile | None]
"""Returns what a settings file sets; None for one without a table for speccheck."""


class Resolved(Record):
    """What holds for the files of a folder.

    values: by the path of the key; of a key whose values add up there may be several.
    files: what gave values, as reports call them, the closest first.
    locks: clauses, areas and rules that nothing switches off, of all files above.
    """

    values: Mapping[tuple[str, ...], tuple[WrittenSetting, ...]]
    files: tuple[str, ...]
    locks: tuple[WrittenSetting, ...]


def resolved(load: Load, closest: str | None, above: Sequence[str]) -> Resolved:
    """Return the values of the closest file and the locks of all; raises SettingsError.

    Args:
        load: reads a settings file.
        closest: the file whose values count; None for none.
        above: all settings files from the folder up, whose locks count as well.

    """
    used = _extended(load, closest) if closest is not None else []
    values: dict[tuple[str, ...], tuple[WrittenSetting, ...]] = {}
    for file in reversed(used):
        _lay_over(values, file)
    locks = list(_locks(used))
    for path in above:
        if path != closest:
            locks += _locks(_extended(load, path))
    return Resolved(
        values, tuple(file.name for file in used), tuple(dict.fromkeys(locks))
    )


def _locks(files: Iterable[SettingsFile]) -> Iterable[WrittenSetting]:
    return (
        setting
        for file in files
        for setting in file.settings
        if setting.path == (MANDATORY,)
    )


def _lay_over(
    values: dict[tuple[str, ...], tuple[WrittenSetting, ...]], file: SettingsFile
) -> None:
    """Put the values of a file over those of the files that it extends."""
    by_file = IGNORES_BY_FILE[0]
    if any(setting.path[0] == by_file for setting in file.settings):
        for path in [path for path in values if path[0] == by_file]:
            del values[path]
    for setting in file.settings:
        before = values.get(setting.path, ())
        if setting.path[0] == FACTS_FOR:
            values.pop(setting.path, None)  # of several patterns the last one counts
        values[setting.path] = (
            (*before, setting) if setting.path[0] in ADDING else (setting,)
        )


def _extended(load: Load, path: str) -> list[SettingsFile]:
    """Return a file and those that it extends, itself first; raises SettingsError."""
    chain: list[SettingsFile] = []
    seen: list[str] = []
    at: WrittenSetting | None = None
    while True:
        real = os.path.realpath(path)
        if real in seen or len(chain) > _MOST_EXTENDED:
            raise _endless(chain, at, is_cycle=real in seen)
        file = _opened(load, path, at)
        seen.append(real)
        chain.append(file)
        at = next(
            (setting for setting in file.settings if setting.path == (EXTEND,)), None
        )
        if at is None:
            return chain
        path = os.path.normpath(os.path.join(at.folder, str(at.value)))


def _opened(load: Load, path: str, at: WrittenSetting | None) -> SettingsFile:
    """Return a settings file, which another one may name."""
    if at is not None and not os.path.isfile(path):
        is_folder = os.path.isdir(path)
        problem = "a folder: name the file in it" if is_folder else "no such file"
        raise _fault(at, problem)
    file = load(path)
    if file is not None:
        return file
    problem = "it has no [tool.speccheck]"
    if at is None:
        message = f"{path}: {problem}"
        raise SettingsError(printable(message))
    raise _fault(at, problem)


def _fault(at: WrittenSetting, problem: str) -> SettingsError:
    message = f'{place_text(at.place)}: extend = "{at.value}": {problem}'
    return SettingsError(printable(message))


def _endless(
    chain: Sequence[SettingsFile], at: WrittenSetting | None, *, is_cycle: bool
) -> SettingsError:
    names = [file.name for file in chain]
    if at is not None:
        names.append(str(at.value))
    problem = "the files extend each other" if is_cycle else "too long a chain"
    message = f"{problem}: {' -> '.join(names)}"
    if not is_cycle:
        message += f": at most {_MOST_EXTENDED} files"
    where = f"{place_text(at.place)}: " if at is not None else ""
    return SettingsError(printable(where + message))


_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning", "info": "info"}


class Layer(Record):
    """What settings say, to be laid under what the command line says.

    values: by the names of options. places: where they stand; of a list, each item.
    folders: of the settings file that gives them. files: that give values, as reports
    call them, the closest first.
    """

    values: Mapping[str, Value]
    places: Mapping[str, tuple[Place, ...]]
    folders: Mapping[str, str]
    policy: Policy
    files: tuple[str, ...]
    resolved: Resolved


def layer_of(result: Resolved, patterns: Sequence[tuple[str, str]]) -> Layer:
    """Return what holds for a plan with files of these patterns, with their folders."""
    values: dict[str, Value] = {}
    places: dict[str, tuple[Place, ...]] = {}
    folders: dict[str, str] = {}
    for setting in _in_order(result, patterns):
        name = setting.key.option_name
        value = _value(setting)
        if isinstance(value, list):
            before = values.get(name) if setting.path[0] in ADDING else None
            value = [*(before if isinstance(before, list) else ()), *value]
            places[name] = (*(places.get(name, ()) if before else ()), *setting.items)
        else:
            places[name] = (setting.place,)
        values[name] = value
        folders[name] = setting.folder
    return Layer(values, places, folders, _policy(result), result.files, result)


def _in_order(
    result: Resolved, patterns: Sequence[tuple[str, str]]
) -> Iterator[WrittenSetting]:
    """Return the settings that are options, those that win over others after these."""
    settings = [setting for several in result.values.values() for setting in several]
    for setting in settings:
        if setting.path[0] != FACTS_FOR and setting.key.option:
            yield setting
    for setting in settings:
        if (
            setting.path[0] == FACTS_FOR
            and (setting.folder, setting.path[1]) in patterns
        ):
            yield setting


def _value(setting: WrittenSetting) -> Value:
    """Return a value as an option has it; a path is relative to the settings file."""
    if isinstance(setting.value, tuple):
        is_output = setting.path == ("output",)
        return [
            _output(text, place, setting.folder) if is_output else text
            for text, place in zip(setting.value, setting.items, strict=True)
        ]
    if setting.key.kind == "path":
        return shown(os.path.normpath(os.path.join(setting.folder, str(setting.value))))
    if setting.path == ("spec",):
        folder = os.path.join(setting.folder, str(setting.value))
        return folder if os.path.exists(folder) else setting.value
    return setting.value


def _output(text: str, place: Place, folder: str) -> str:
    """Return the report that settings name, in a file below their own folder.

    Settings come with what is judged, and may be hostile: they overwrite nothing
    elsewhere. Raises SettingsError.
    """
    form, equal, path = text.partition("=")
    if not equal or not path:
        return text
    target = os.path.normpath(os.path.join(folder, path))
    real = os.path.realpath(os.path.dirname(target))
    if path_within(real, os.path.realpath(folder)) is None:
        message = (
            f"{place_text(place)}: {place.key} = {text}: a report that settings "
            "ask for must "
            "lie below their folder: give another path, or use --output"
        )
        raise SettingsError(printable(message))
    return f"{form}={shown(target)}"


def patterns_for(result: Resolved, paths: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return patterns of facts that a file of the plan matches, with their folders."""
    patterns = {
        (setting.folder, setting.path[1]): None
        for path, several in result.values.items()
        if path[0] == FACTS_FOR
        for setting in several
    }
    return tuple(pattern for pattern in patterns if _is_for(*pattern, paths))


def _is_for(folder: str, pattern: str, paths: Sequence[str]) -> bool:
    seen = (path_within(path, folder) for path in paths)
    return any(path is not None and matches(pattern, path) for path in seen)


def _policy(result: Resolved) -> Policy:
    values = result.values
    inline = values.get(("inline-ignores",))
    ignores = (
        FileIgnore(setting.path[1], setting.folder, _texts(setting), setting.place)
        for path, settings in values.items()
        if path[0] in IGNORES_BY_FILE
        for setting in settings
    )
    levels = (
        RaisedLevel(setting.path[1], _level(setting), setting.place)
        for path, (setting, *_) in values.items()
        if path[0] == LEVELS
    )
    locks = (
        NamedAt(name, place)
        for lock in result.locks
        for name, place in zip(_texts(lock), lock.items, strict=True)
    )
    return Policy(
        mandatory=tuple(locks),
        levels=tuple(levels),
        file_ignores=tuple(ignores),
        waivers=_path(values.get(("waivers",))),
        baseline=_path(values.get(("baseline",))),
        inline_ignores=inline is None or bool(inline[0].value),
    )


def _texts(setting: WrittenSetting) -> tuple[str, ...]:
    return setting.value if isinstance(setting.value, tuple) else ()


def _level(setting: WrittenSetting) -> Level:
    return _LEVELS[str(setting.value)]


def _path(settings: tuple[WrittenSetting, ...] | None) -> str | None:
    """Return the path of a file that a setting names."""
    return str(_value(settings[-1])) if settings else None
