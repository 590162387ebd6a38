"""`--show-settings`: each value that is in force, and where it comes from."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.cli.command_line import CommandLine, laid_over
from speccheck.validator.cli.option_table import Value
from speccheck.validator.cli.settings.keys import EXTEND, KEYS, MANDATORY, Key
from speccheck.validator.cli.settings.layer import Layer
from speccheck.validator.cli.settings.load import SettingValue, WrittenSetting
from speccheck.validator.engine.selection import place_text
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, dotted
from speccheck.validator.report.style import printable

SCHEMA = "speccheck-settings/1"
_DEFAULT, _COMMAND_LINE = "default", "command line"
_TABLES = {"levels", "names_by_pattern", "facts_by_pattern"}
_NOT_SET = "not set"


class SettingsRow(Record):
    """One setting in force; no value for one that is not set and has no default."""

    key: str
    value: Value | None
    origin: str


class SettingsSection(Record):
    """What holds for the run, or for one file; files: the settings files, if any."""

    title: str
    files: tuple[str, ...]
    rows: tuple[SettingsRow, ...]


def sections_of(line: CommandLine) -> Iterator[SettingsSection]:
    """Return the run with what holds for all, then each file with what holds for it."""
    files = [file for file in line.files if not os.path.isdir(file)]
    keys = [key for key in KEYS if not files or key.scope == "run"]
    yield _section("the run", line, keys)
    for file in files:
        of_file = line
        if line.settings is not None:
            of_file = laid_over(line, line.settings.of_plan((file,)))
        keys = [key for key in KEYS if key.scope == "plan"]
        yield _section("standard input" if file == "-" else file, of_file, keys)


def _section(title: str, line: CommandLine, keys: Iterable[Key]) -> SettingsSection:
    files = line.layer.files if line.layer else ()
    return SettingsSection(title, files, tuple(_rows(line, keys)))


def _rows(line: CommandLine, keys: Iterable[Key]) -> Iterator[SettingsRow]:
    layer = line.layer
    for key in keys:
        if key.name == EXTEND:
            continue  # the files that are extended are named above the values
        if key.kind in _TABLES:
            yield from _of_table(key, layer)
        elif key.name == MANDATORY:
            yield _locks(key, layer)
        elif key.option:
            yield _of_option(key, line)
        else:
            yield _of_settings_alone(key, line)


def _of_option(key: Key, line: CommandLine) -> SettingsRow:
    name = key.option_name
    origins: list[str] = []
    if line.places and name in line.places:
        origins += _lines(line.places[name])
    if name in line.stated:
        origins.append(_COMMAND_LINE)
    if not origins:
        return SettingsRow(key.name, _default(key), _DEFAULT)
    return SettingsRow(key.name, line.values.get(name, False), ", ".join(origins))


def _of_settings_alone(key: Key, line: CommandLine) -> SettingsRow:
    if key.undone_by.removeprefix("--").replace("-", "_") in line.values:
        return SettingsRow(key.name, value=False, origin=_COMMAND_LINE)
    layer = line.layer
    settings = layer.resolved.values.get((key.name,)) if layer else None
    if not settings:
        return SettingsRow(key.name, _default(key), _DEFAULT)
    return SettingsRow(
        key.name, _plain(settings[-1].value), place_text(settings[-1].place)
    )


def _locks(key: Key, layer: Layer | None) -> SettingsRow:
    locks = layer.policy.mandatory if layer else ()
    if not locks:
        return SettingsRow(key.name, _default(key), _DEFAULT)
    names = [*dict.fromkeys(lock.name for lock in locks)]
    return SettingsRow(key.name, names, ", ".join(_lines(lock.place for lock in locks)))


def _of_table(key: Key, layer: Layer | None) -> Iterator[SettingsRow]:
    for path, several in (layer.resolved.values if layer else {}).items():
        if path[0] == key.name:
            yield from (_of_entry(path, setting) for setting in several)


def _of_entry(path: Sequence[str], setting: WrittenSetting) -> SettingsRow:
    name = dotted((path[0], json.dumps(path[1], ensure_ascii=False), *path[2:]))
    return SettingsRow(name, _plain(setting.value), place_text(setting.place))


def _plain(value: SettingValue) -> Value:
    return [*value] if isinstance(value, tuple) else value


def _default(key: Key) -> Value | None:
    value: Value | None = json.loads(key.default or "null")
    return value


def _lines(places: Iterable[Place]) -> list[str]:
    return [*dict.fromkeys(place_text(place) for place in places)]


def settings_text(sections: Iterable[SettingsSection], *, is_isolated: bool) -> str:
    """Return the sections as people read them."""
    blocks: list[str] = []
    for section in sections:
        files = ", extending ".join(section.files) or "no settings file"
        if is_isolated:
            files = "no settings file is read (--isolated)"
        lines = [f"{section.title}: {files}"]
        shown = [(row.key, _written(row.value), row.origin) for row in section.rows]
        first = max((len(key) for key, _, _ in shown), default=0)
        second = min(max((len(value) for _, value, _ in shown), default=0), _WIDEST)
        lines += (
            f"  {key:<{first}}  {value:<{second}}  {origin}"
            for key, value, origin in shown
        )
        blocks.append("\n".join(printable(line) for line in lines))
    return "\n\n".join(blocks) + "\n"


_WIDEST = 40


def _written(value: Value | None) -> str:
    return _NOT_SET if value is None else json.dumps(value, ensure_ascii=False)


def settings_json(sections: Iterable[SettingsSection], *, is_isolated: bool) -> str:
    """Return the sections as one document."""
    run, *files = (
        {
            "files": list(section.files),
            "settings": [row._asdict() for row in section.rows],
        }
        | ({} if not index else {"path": section.title})
        for index, section in enumerate(sections)
    )
    document = {"schema": SCHEMA, "isolated": is_isolated, "run": run, "files": files}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
