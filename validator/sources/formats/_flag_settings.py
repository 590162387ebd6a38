"""Settings on a command line as flags, `--a.b value`: the tree that a file would make.

The reader of the file format reads them (`_overrides.py`), so that one table of keys
serves both ways to state a setting.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from speccheck.validator.evidence.framework_keys import FrameworkKeys, KeyRow
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, LoadedAs, StatedKey
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import Resolution
from speccheck.validator.sources.formats._overrides import Override, OverrideDocument
from speccheck.validator.sources.launching import (
    is_sure,
    last_options,
    launch_of,
    may_hold_options,
    python_program,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import FALSE_TEXTS, TRUE_TEXTS, parse_number
from speccheck.validator.sources.reader import Fact, Reading, Source
from speccheck.validator.sources.shell.script import Command, Option, Word, options

PathOf = Callable[[str, FrameworkKeys], KeyPath | None]
"""The key of a table that a flag states; None for a flag of something else."""

_MODULE_FLAGS = frozenset({"-m", "--module"})
_TRUE, _FALSE = TRUE_TEXTS | {"t", "y"}, FALSE_TEXTS | {"f", "n"}


class Flags(Record):
    """The settings among the arguments of one command.

    named: the flag of each key, as written.
    hidden: a word that may hold more of them, such as `$EXTRA_ARGS`; else empty.
    refused: texts of which the parser cannot make the number that a flag takes.
    """

    settings: tuple[Override, ...]
    named: Mapping[KeyPath, str]
    hidden: str
    refused: tuple[LoadedAs, ...]


class FlagDocument(OverrideDocument):
    """The flags of one command as a document whose places name the flags."""

    __slots__ = ("_named",)

    def __init__(self, source: Source, start: Word, flags: Flags) -> None:
        """Take the flags of the program that `start` names."""
        super().__init__(source, start, flags.settings)
        self._named = flags.named

    def place(self, path: KeyPath) -> Place:
        """The word that states the value at a path, or the program."""
        found = super().place(path)
        flag = next(
            (
                self._named[path[:length]]
                for length in range(len(path), 0, -1)
                if path[:length] in self._named
            ),
            found.key,
        )
        return found._replace(key=flag)

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Why a value is not known, where only the job knows it."""
        for one in self.settings:
            if one.path == path[: len(one.path)] and not one.is_known:
                return Resolution(is_known=False, note=unresolved(one.word))
        return None


def program_and_arguments(command: Command) -> tuple[Word, Sequence[Word]] | None:
    """The training program of a command, and the words after it."""
    words = command.words
    launch = launch_of(command)
    if launch is not None and launch.program:
        start = len(words) - len(launch.program)
        start += words[start].text in _MODULE_FLAGS
        return (words[start], words[start + 1 :]) if start < len(words) else None
    program = python_program(command)
    if program is None:
        return None
    return program, words[words.index(program) + 1 :]


def flag_names(arguments: Sequence[Word]) -> Iterator[str]:
    """The long flags among words, without their dashes and with underscores."""
    for word in arguments:
        if word.text.startswith("--"):
            yield word.text[2:].partition("=")[0].replace("-", "_")


def read_flags(
    file: str, arguments: Sequence[Word], table: FrameworkKeys, path_of: PathOf
) -> Flags:
    """The settings among the words after a program, of equal ones the last."""
    arguments = [one for one in arguments if not _is_all_arguments(one)]
    found = last_options(options(arguments))
    settings: list[Override] = []
    named: dict[KeyPath, str] = {}
    refused: list[LoadedAs] = []
    first = next((i for i, one in enumerate(arguments) if one.text[:1] == "-"), 0)
    surplus = [*arguments[:first]]
    for flag, values, word in found.values():
        path = path_of(flag, table)
        row = table.lookup(path) if path is not None else None
        kind = row.type if row is not None else "any"
        if "list" not in kind:
            surplus += values[1:]
        if path is None:
            continue
        one = _setting(path, (flag, values, word), row, table)
        if not one.word.resolved and _is_switch(row):
            surplus.append(one.word)
        settings.append(one)
        named[one.path] = flag
        if row is not None and (fault := _refused(file, flag, one.word, row)):
            refused.append(fault)
    hidden = next((one.text for one in surplus if may_hold_options(one)), "")
    return Flags(tuple(settings), named, hidden, tuple(refused))


def _is_all_arguments(word: Word) -> bool:
    """`"$@"` and `$*`: what the script is called with; it is read as called without."""
    return not word.resolved and word.text.strip('"${}') in {"@", "*"}


def _is_switch(row: KeyRow | None) -> bool:
    return row is not None and row.type.split("|")[0] == "bool"


def _setting(
    path: KeyPath, option: Option, row: KeyRow | None, table: FrameworkKeys
) -> Override:
    """What a flag states, and the word that says so: its value, else the flag."""
    _, values, word = option
    denied = _denied(path, table) if row is None and not values else None
    if denied is not None:
        return Override(denied, value=False, sign="", word=word)
    if not values and is_sure(option):
        return Override(path, value=True, sign="", word=word)
    said = values[0] if values and is_sure(option) else word
    if not said.resolved:
        return Override(path, f"$({unresolved(said)})", "", said)
    kind = row.type if row is not None else "any"
    if "list" in kind and len(values) > 1:
        return Override(path, [_typed(one.text, kind) for one in values], "", said)
    value = _typed(said.text, kind)
    if _is_switch(row) and not isinstance(value, bool):
        return Override(path, value=True, sign="", word=word)
    return Override(path, value, "", said)


def _denied(path: KeyPath, table: FrameworkKeys) -> KeyPath | None:
    """The switch that a flag with `no_` before its name turns off."""
    name = str(path[-1])
    if not name.startswith("no_"):
        return None
    switch = (*path[:-1], name.removeprefix("no_"))
    return switch if _is_switch(table.lookup(switch)) else None


def _typed(text: str, kind: str) -> object:
    """What a parser of arguments makes of a text, by the type of its flag."""
    kinds = kind.split("|")
    word = text.strip().lower()
    if "bool" in kinds and word in _TRUE | _FALSE:
        return word in _TRUE
    if text.startswith("{") and ("map" in kinds or "object" in kinds):
        return _mapping(text)
    number = parse_number(text) if {"int", "float"} & {*kinds} else None
    if number is None:
        return text
    return int(number) if "int" in kinds and number.is_integer() else number


def _mapping(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


class _Number(NamedTuple):
    of: Callable[[str], float]
    expected: str


_NUMBERS = {"int": _Number(int, "a whole number"), "float": _Number(float, "a number")}


def _refused(file: str, flag: str, word: Word, row: KeyRow) -> LoadedAs | None:
    """A text that stops the parser of arguments when the job starts."""
    number = _NUMBERS.get(row.type.removesuffix("|null"))
    text = word.text.partition("=")[2] if word.text.startswith("--") else word.text
    if number is None or row.choices or not word.resolved or not text:
        return None
    try:
        number.of(text)
    except ValueError:
        place = word_place(file, flag, word)
        loaded = f"the text {text!r:.60}"
        return LoadedAs(flag, text, loaded, number.expected, place, fatal=True)
    return None


def keyed_flags(
    file: str, format_id: str, flags: Flags, table: FrameworkKeys
) -> KeyedFile:
    """The flags for the rules on configuration hygiene."""
    keys = tuple(
        StatedKey(
            one.path,
            one.value if one.is_known else None,
            word_place(file, flags.named[one.path], one.word),
        )
        for one in flags.settings
    )
    return KeyedFile(file, format_id, keys, table, loaded_as=flags.refused)


def joined_keys(files: Sequence[KeyedFile | None]) -> KeyedFile | None:
    """The flags of several commands of one script, each place once."""
    known = [one for one in files if one is not None]
    if not known:
        return None
    keys = {key.at: key for one in known for key in one.keys}
    refused = dict.fromkeys(fault for one in known for fault in one.loaded_as)
    return known[0]._replace(keys=(*keys.values(),), loaded_as=(*refused,))


def stated_alone(reading: Reading) -> Reading:
    """The reading with what the flags say, and nothing that follows from silence.

    A file that is not there, or a program of its own, may say otherwise.
    """
    facts = reading.facts.facts
    facts[:] = [fact for fact in facts if fact.places and fact.status != "default"]
    return reading


def with_hidden(reading: Reading, hidden: str) -> Reading:
    """The reading with defaults unknown where more flags may be given out of sight."""
    if hidden:
        reason = f"may be given in {hidden[:60]}"
        facts = reading.facts.facts
        facts[:] = [
            Fact(fact.name, None, "unknown", (), reason)
            if fact.status == "default"
            else fact
            for fact in facts
        ]
    return reading
