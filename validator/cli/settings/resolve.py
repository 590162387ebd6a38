"""Several settings files, one set of values: what extends what, and all the locks."""

import os
from collections.abc import Iterable, Mapping, Sequence

from speccheck.validator.cli.settings.find import SettingsFiles
from speccheck.validator.cli.settings.keys import (
    ADDING,
    EXTEND,
    FACTS_FOR,
    IGNORES_BY_FILE,
    MANDATORY,
)
from speccheck.validator.cli.settings.load import Setting, SettingsFile, told
from speccheck.validator.cli.settings.names import SettingsError
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import printable

_MOST_EXTENDED = 10


class Resolved(Record):
    """What holds for the files of a folder.

    values: by the path of the key; of a key whose values add up there may be several.
    files: what gave values, as reports call them, the closest first.
    locks: clauses, areas and rules that nothing switches off, of all files above.
    """

    values: Mapping[tuple[str, ...], tuple[Setting, ...]]
    files: tuple[str, ...]
    locks: tuple[Setting, ...]


def resolved(
    files: SettingsFiles, closest: str | None, above: Sequence[str]
) -> Resolved:
    """The values of the closest file, and the locks of all; raises SettingsError.

    Args:
        files: reads them.
        closest: the file whose values count; None for none.
        above: all settings files from the folder up, whose locks count as well.

    """
    used = _extended(files, closest) if closest is not None else []
    values: dict[tuple[str, ...], tuple[Setting, ...]] = {}
    for file in reversed(used):
        _lay_over(values, file)
    locks = list(_locks(used))
    for path in above:
        if path != closest:
            locks += _locks(_extended(files, path))
    return Resolved(
        values, tuple(file.name for file in used), tuple(dict.fromkeys(locks))
    )


def _locks(files: Iterable[SettingsFile]) -> Iterable[Setting]:
    return (one for file in files for one in file.settings if one.path == (MANDATORY,))


def _lay_over(
    values: dict[tuple[str, ...], tuple[Setting, ...]], file: SettingsFile
) -> None:
    """Put the values of a file over those of the files that it extends."""
    by_file = IGNORES_BY_FILE[0]
    if any(one.path[0] == by_file for one in file.settings):
        for path in [path for path in values if path[0] == by_file]:
            del values[path]
    for one in file.settings:
        before = values.get(one.path, ())
        if one.path[0] == FACTS_FOR:
            values.pop(one.path, None)  # of several patterns the last one counts
        values[one.path] = (*before, one) if one.path[0] in ADDING else (one,)


def _extended(files: SettingsFiles, path: str) -> list[SettingsFile]:
    """A file and those that it extends, itself first; raises SettingsError."""
    chain: list[SettingsFile] = []
    seen: list[str] = []
    at: Setting | None = None
    while True:
        real = os.path.realpath(path)
        if real in seen or len(chain) > _MOST_EXTENDED:
            raise _endless(chain, at, is_cycle=real in seen)
        file = _opened(files, path, at)
        seen.append(real)
        chain.append(file)
        at = next((one for one in file.settings if one.path == (EXTEND,)), None)
        if at is None:
            return chain
        path = os.path.normpath(os.path.join(at.folder, str(at.value)))


def _opened(files: SettingsFiles, path: str, at: Setting | None) -> SettingsFile:
    """A settings file, which another one may name."""
    if at is not None and not os.path.isfile(path):
        is_folder = os.path.isdir(path)
        problem = "a folder: name the file in it" if is_folder else "no such file"
        raise _fault(at, problem)
    file = files.load(path)
    if file is not None:
        return file
    problem = "it has no [tool.speccheck]"
    if at is None:
        message = f"{path}: {problem}"
        raise SettingsError(printable(message))
    raise _fault(at, problem)


def _fault(at: Setting, problem: str) -> SettingsError:
    message = f'{told(at.place)}: extend = "{at.value}": {problem}'
    return SettingsError(printable(message))


def _endless(
    chain: Sequence[SettingsFile], at: Setting | None, *, is_cycle: bool
) -> SettingsError:
    names = [file.name for file in chain]
    if at is not None:
        names.append(str(at.value))
    problem = "the files extend each other" if is_cycle else "too long a chain"
    message = f"{problem}: {' -> '.join(names)}"
    if not is_cycle:
        message += f": at most {_MOST_EXTENDED} files"
    where = f"{told(at.place)}: " if at is not None else ""
    return SettingsError(printable(where + message))
