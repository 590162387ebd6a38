"""Reads one settings file: its values, each with its place."""

import os
from typing import Any

from speccheck.validator.cli.settings.files import (
    MAXIMUM_BYTES,
    SHARED_NAME,
    SettingsError,
    shown,
)
from speccheck.validator.cli.settings.keys import (
    BY_NAME,
    FACT_KEYS,
    FACTS,
    FACTS_FOR,
    TOP,
    Key,
)
from speccheck.validator.engine.selection import place_text
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place, dotted
from speccheck.validator.report.style import printable
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text

Scalar = str | int | float | bool
SettingValue = Scalar | tuple[str, ...]
_MOST = 1e12
_LONGEST = 60  # text of a value in a message
_TABLE = ("tool", "speccheck")
_EMPTY = "empty"  # of a ReadError: a file in which nothing is set


class WrittenSetting(Record):
    """One value of a settings file.

    path: of the key: ("select",), ("facts", "gpu"), ("facts-for", "a/**", "role").
    items: where the texts of a list stand. folder: of the file; what the value names
    is relative to it.
    """

    path: tuple[str, ...]
    value: SettingValue
    place: Place
    items: tuple[Place, ...] = ()
    folder: str = ""

    @property
    def key(self) -> Key:
        """What is known of the key."""
        if self.path[0] in {FACTS, FACTS_FOR}:
            return FACT_KEYS[self.path[-1]]
        return BY_NAME[self.path[0]]


class SettingsFile(Record):
    """A settings file: its absolute path, what reports call it, its values."""

    path: str
    name: str
    settings: tuple[WrittenSetting, ...]


def load(path: str) -> SettingsFile | None:
    """Return what a file sets; None for a pyproject.toml without a table for speccheck.

    Raises SettingsError.
    """
    name = printable(shown(path))
    is_shared = os.path.basename(path) == SHARED_NAME
    try:
        _demand_size(path, name)
        text = read_text(path)
    except ReadError as error:
        if error.kind == _EMPTY:
            return None if is_shared else SettingsFile(path, name, ())
        raise SettingsError(_of_file(name, error)) from error
    try:
        (document,) = load_documents(name, text, "toml")
    except ReadError as error:
        if error.kind == _EMPTY:
            return None if is_shared else SettingsFile(path, name, ())
        if is_shared and "tool.speccheck" not in text:
            return None  # whatever is wrong with it, it is not ours to say
        raise SettingsError(_of_file(name, error)) from error
    return _settings(document, path, name, is_shared=is_shared)


def _of_file(name: str, error: ReadError) -> str:
    return printable(str(error).replace(error.name, name, 1))


def _demand_size(path: str, name: str) -> None:
    try:
        size = os.stat(path).st_size
    except OSError:
        return  # which read_text will say in its own words
    if size > MAXIMUM_BYTES:
        message = f"{name}: {size:,} bytes; settings may have {MAXIMUM_BYTES:,}: "
        raise SettingsError(message + "give the settings of speccheck alone")


def _settings(
    document: Document, path: str, name: str, *, is_shared: bool
) -> SettingsFile | None:
    data: Any = document.data
    prefix: KeyPath = ()
    if is_shared:
        prefix = _TABLE
        tool = data.get(_TABLE[0])
        if not isinstance(tool, dict) or _TABLE[1] not in tool:
            return None
        data = tool[_TABLE[1]]
    values = _Values(document, prefix, os.path.dirname(path))
    if not isinstance(data, dict):
        raise values.fault((), "must be a table: write [tool.speccheck]")
    values.read(data)
    return SettingsFile(path, name, tuple(values.settings))


class _Values:
    """Takes the values of one document; every fault names its line."""

    def __init__(self, document: Document, prefix: KeyPath, folder: str) -> None:
        self.settings: list[WrittenSetting] = []
        self._document = document
        self._prefix = prefix
        self._folder = folder

    def read(self, data: dict[str, Any]) -> None:
        for name, value in data.items():
            if name not in TOP:
                raise self._unknown((name,), TOP, "setting")
            if name == FACTS:
                self._facts((name,), value)
            elif name == FACTS_FOR:
                for pattern, facts in self._table((name,), value).items():
                    self._demand_pattern((name,), pattern)
                    self._facts((name, pattern), facts)
            elif BY_NAME[name].kind in {"levels", "names_by_pattern"}:
                for text, of_one in self._table((name,), value).items():
                    self._demand_pattern((name,), text)
                    self._add((name, text), of_one, BY_NAME[name])
            else:
                self._add((name,), value, BY_NAME[name])

    def _facts(self, path: tuple[str, ...], value: object) -> None:
        for name, fact in self._table(path, value).items():
            if name not in FACT_KEYS:
                raise self._unknown((*path, name), tuple(FACT_KEYS), "fact")
            self._add((*path, name), fact, FACT_KEYS[name])

    def _table(self, path: tuple[str, ...], value: object) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        header = dotted((*self._prefix, *path[:1]))
        raise self.fault(path, f"must be a table: write [{header}]", value)

    def _demand_pattern(self, path: tuple[str, ...], pattern: str) -> None:
        if not pattern.strip():
            raise self.fault((*path, pattern), "an empty name: give a pattern or name")

    def _add(self, path: tuple[str, ...], value: object, key: Key) -> None:
        taken = self._taken(path, value, key)
        items: tuple[Place, ...] = ()
        if isinstance(taken, tuple):
            items = (
                tuple(self._place((*path, index)) for index in range(len(taken)))
                if isinstance(value, list)
                else (self._place(path),)
            )
        place = self._place(path)
        self.settings.append(WrittenSetting(path, taken, place, items, self._folder))

    def _taken(self, path: tuple[str, ...], value: object, key: Key) -> SettingValue:
        kind = key.kind
        if kind == "switch":
            if isinstance(value, bool):
                return value
            raise self.fault(path, "must be true or false", value)
        if kind in {"integer", "number"}:
            return self._number(path, value, is_whole=kind == "integer")
        if kind in {"texts", "names_by_pattern"}:
            given = value if isinstance(value, list) else [value]
            texts = [text.strip() for text in given if isinstance(text, str)]
            if len(texts) < len(given) or not all(texts):
                raise self.fault(path, 'must be a list of texts: ["...", "..."]', value)
            return tuple(texts)
        if not isinstance(value, str) or not value.strip():
            raise self.fault(path, f"must be a text: {_quoted(path, value)}", value)
        if key.words and value not in key.words:
            raise self.fault(path, f"must be one of {', '.join(key.words)}", value)
        return value

    def _number(
        self, path: tuple[str, ...], value: object, *, is_whole: bool
    ) -> int | float:
        number = value if isinstance(value, int | float) else 0
        # A truth value is a number to Python; the bounds also refuse nan and infinity.
        if not isinstance(value, bool) and 0 < number < _MOST:
            if not is_whole:
                return number
            if number == int(number):
                return int(number)
        wanted = "a whole number" if is_whole else "a number"
        raise self.fault(path, f"must be {wanted} above zero", value)

    def _unknown(
        self, path: tuple[str, ...], known: tuple[str, ...], noun: str
    ) -> SettingsError:
        from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

        close = nearest(path[-1].replace("_", "-"), known)
        hint = f"did you mean {close}?" if close else f"known are {', '.join(known)}"
        return self.fault(path[:-1], f"no {noun} {path[-1]}: {hint}", at=path)

    def fault(
        self,
        path: tuple[str, ...],
        says: str,
        value: object = None,
        at: tuple[str, ...] | None = None,
    ) -> SettingsError:
        """Return what is wrong with a value, or with its key."""
        place = self._place(path if at is None else at, is_key=True)
        name = dotted((*self._prefix, *path))
        given = "" if value is None else f" = {_short(value)}"
        text = f"{name}{given}: {says}" if name else says
        return SettingsError(printable(f"{place_text(place)}: {text}"))

    def _place(self, path: KeyPath, *, is_key: bool = False) -> Place:
        whole = (*self._prefix, *path)
        span = self._document.span(whole, part="key" if is_key else "value")
        return Place(self._document.name, dotted(whole), span=span)


def _quoted(path: tuple[str, ...], value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'write {path[-1]} = "{value}"'
    return f'write {path[-1]} = "..."'


def _short(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
