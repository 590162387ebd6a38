"""Settings on a command line: overrides, `a.b.c=value`, and flags, `--a.b value`.

Both become the tree that a file would make, as a document whose places are its words:
the reader of the file format reads it, so that one table of keys serves every way to
state a setting. Of a word that the shell fills in when the job runs nothing is known
but that it is there.
Grammar: https://hydra.cc/docs/advanced/override_grammar/basic.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.framework_keys import FrameworkKeys, KeyRow
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import (
    KeyedFile,
    LoadedAs,
    StatedKey,
    plain_word,
)
from speccheck.validator.evidence.value import KeyPath, Place, Span, dotted
from speccheck.validator.sources.documents.document import (
    Document,
    Resolution,
    TreeNode,
)
from speccheck.validator.sources.launching import (
    is_sure,
    last_options,
    launch_of,
    may_hold_options,
    python_program,
    unresolved,
    word_place,
)
from speccheck.validator.sources.mapping import (
    FALSE_TEXTS,
    TRUE_TEXTS,
    parse_number,
    section,
)
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Parent,
    Reader,
    Reading,
    Reference,
    Source,
)
from speccheck.validator.sources.repository import (
    holds_package,
    words_of_programs,
)
from speccheck.validator.sources.shell.script import (
    Option,
    ShellCommand,
    ShellWord,
    options,
)

_OVERRIDE = lazy_pattern(r"(?s)(\+\+|\+|~)?([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?:=(.*))?$")
_INTEGER = lazy_pattern(r"[+-]?[0-9][0-9_]*$")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}
_BRACKETS = {"[": "]", "{": "}"}
_QUOTES = "'\""
_MOST_NESTED = 20
# How OmegaConf and Hydra write a value that the command gives, and the parents.
_DEMANDED, _PARENTS = "???", "defaults"
_LONGEST_INTEGER = 400
# How far above a script the configurations of its repository may lie.
_ASCENTS = (".", "..", "../..", "../../..", "../../../..")
PathOf = Callable[[str, FrameworkKeys], KeyPath | None]


"""The key of a table that a flag states; None for a flag of something else."""


_MODULE_FLAGS = frozenset({"-m", "--module"})
_TRUE, _FALSE = TRUE_TEXTS | {"t", "y"}, FALSE_TEXTS | {"f", "n"}


class Override(Record):
    """One setting of a command line.

    sign: `+` adds a key, `++` sets it whether it is there or not, `~` removes it.
    """

    path: KeyPath
    value: object
    sign: str
    word: ShellWord

    @property
    def is_known(self) -> bool:
        """Whether the value stands in the script."""
        return self.word.resolved


def overrides(words: Iterable[ShellWord], *, top_level: bool) -> Iterator[Override]:
    """Return the settings among the words of a command.

    Args:
        words: the words after the program.
        top_level: whether `key=value` without a dot is a setting too; in Hydra it
            chooses a group of configurations.
    """
    for word in words:
        match = _OVERRIDE.match(word.text)
        if match is None:
            continue
        sign, name, text = match[1] or "", match[2], match[3]
        if "." not in name and not top_level:
            continue
        if text is None and sign != "~":
            continue
        path = tuple(name.split("."))
        value = parsed(text or "") if word.resolved else _unknown(text or "")
        yield Override(path, value, sign, word)


def _unknown(text: str) -> str:
    """Return what stands for a text that the shell fills in and that is unseen here."""
    names = "".join(sign for sign in text if sign not in "${}()")
    return f"$({names[:60]})"


def parsed(text: str, depth: int = 0) -> object:
    """Return what Hydra makes of the text of a value."""
    stripped = text.strip()
    if len(stripped) > 1 and stripped[0] in _QUOTES and stripped[-1] == stripped[0]:
        return stripped[1:-1]
    closing = _BRACKETS.get(stripped[:1])
    if closing and stripped.endswith(closing) and depth < _MOST_NESTED:
        parts = _split(stripped[1:-1])
        if closing == "]":
            return [parsed(part, depth + 1) for part in parts]
        pairs = (part.partition(":") for part in parts)
        return {key.strip(): parsed(value, depth + 1) for key, _, value in pairs}
    if stripped.lower() in _WORDS:
        return _WORDS[stripped.lower()]
    number = parse_number(stripped)
    if number is not None and _INTEGER.match(stripped):
        return int(stripped[:_LONGEST_INTEGER].replace("_", ""))
    return text if number is None else number


def _split(text: str) -> list[str]:
    """Return the parts between commas that stand in no brackets and no quotes."""
    parts: list[str] = []
    start, depth, quote = 0, 0, ""
    for position, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in "[{(":
            depth += 1
        elif sign in "]})":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


class OverrideDocument(Document):
    """The settings of one command as a document; see `Document`."""

    __slots__ = ("_settings", "_start")

    def __init__(
        self,
        source: Source,
        start: ShellWord,
        settings: Sequence[Override],
        assumed: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Join the settings; of two of one key the last counts.

        Args:
            source: the script.
            start: the word that names the program, the place of everything else.
            settings: as written.
            assumed: what the program does without being told, under its keys.
        """
        data: dict[str, object] = dict(assumed)
        kept: dict[KeyPath, Override] = {}
        for setting in settings:
            if setting.sign == "~":
                continue
            _set(data, setting.path, setting.value)
            kept[setting.path] = setting
        super().__init__(
            name=source.name,
            language="yaml",
            # What refers to other values is seen in the text of a document.
            text="\n".join(str(override.value) for override in kept.values()),
            data=data,
            find_nodes=_no_nodes,
        )
        self._start = start
        self._settings = kept

    @property
    def settings(self) -> tuple[Override, ...]:
        """Those that count."""
        return tuple(self._settings.values())

    def place(self, path: KeyPath) -> Place:
        """Return the word that states the value at a path, or the one around it."""
        for length in range(len(path), 0, -1):
            setting = self._settings.get(path[:length])
            if setting is not None:
                return word_place(self.name, dotted(path), setting.word)
        return word_place(self.name, dotted(path) or self._start.text, self._start)

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Return where the word stands."""
        del part
        return self.place(path).span


def _no_nodes() -> TreeNode:
    return TreeNode(None, (0, 0))


def _set(data: dict[str, object], path: KeyPath, value: object) -> None:
    for step in path[:-1]:
        below = data.get(str(step))
        if not isinstance(below, dict):
            below = {}
            data[str(step)] = below
        data = below
    data[str(path[-1])] = value


class SeenOverrides(Record):
    """What became of a command with the configuration that it names.

    config: the file, relative to the script; empty where none was found.
    is_whole: nothing that the values come from is missing.
    unset: where a value is left to the command (`???`), and it gives none.
    """

    reading: Reading
    config: str
    is_whole: bool
    unset: tuple[Place, ...]


def read_over(
    document: OverrideDocument, reader: Reader, config: Parent | None
) -> SeenOverrides:
    """Read settings over the configuration that their command names.

    Args:
        document: the settings.
        reader: of the format that they belong to.
        config: the file that the command names; None where it names none, so that the
            document's own defaults list counts.
    """
    from speccheck.validator.sources.composition import (  # noqa: PLC0415 - seldom
        compose,
    )

    def parents(item: Document) -> tuple[Parent, ...]:
        if item is document and config is not None:
            return (config,)
        return reader.parents(item) if reader.parents is not None else ()

    composed = compose(document, reader._replace(parents=parents))
    text = ""
    if config is not None and composed.parents:
        home = os.path.dirname(document.name)
        text = os.path.relpath(composed.parents[0].name, home or ".")
    whole = composed.document
    unset = (*(whole.place(path) for path in _unset(whole.data)),)
    return SeenOverrides(reader.read(whole), text, not composed.gaps, unset)


def _unset(data: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the keys that OmegaConf demands from the command line: `???`."""
    if data == _DEMANDED:
        yield path
    elif isinstance(data, dict) and len(path) < _MOST_NESTED:
        for key, value in data.items():
            if (*path, key) != (_PARENTS,):
                yield from _unset(value, (*path, key))


def merged(document: OverrideDocument, config: Parent) -> Document:
    """Return the settings over the file that their command names, and nothing else."""
    from speccheck.validator.sources.composition import (  # noqa: PLC0415 - seldom
        compose,
    )

    def parents(item: Document) -> tuple[Parent, ...]:
        return (config,) if item is document else ()

    bare = Reader("", "config", _never, _nothing, keys=(), parents=parents)
    return compose(document, bare).document


def _never(document: Document) -> float:
    del document
    return 0.0


def _nothing(document: Document) -> Reading:
    return Reading(FactSheet.of(document))


def config_parent(target: str, folders: Sequence[str]) -> Parent:
    """Return the file of that name, beside a script or in the repository above.

    Folders with a full path are those of the machine that runs the job: here the file
    may lie beside the script.
    """
    places = [folder for folder in folders if not folder.startswith(("/", "$"))] or [
        "."
    ]
    result = dict.fromkeys(f"{home}/{place}" for place in places for home in _ASCENTS)
    return Parent(target, (), folders=(*result,))


def with_suffix(name: str) -> str:
    """Return the file of a configuration that Hydra is given by name."""
    return name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"


def over_reference(seen: SeenOverrides, reference: Reference) -> Reading:
    """Return the reading of a command with a file, whose settings it overrides."""
    reading = seen.reading
    stated = tuple(sorted({fact.name for fact in reading.facts.facts}))
    target = seen.config or reference.target
    named = reference._replace(target=target, replaces=stated)
    return reading._replace(references=(named, *reading.references))


def without_defaults(reading: Reading) -> Reading:
    """Return the reading without defaults: a file unseen may say otherwise."""
    facts = reading.facts.facts
    facts[:] = [fact for fact in facts if fact.status != "default"]
    return reading


def keyed_settings(
    file: str, format_id: str, document: OverrideDocument, *, refuses: bool
) -> KeyedFile:
    """Return the settings for the rules on configuration hygiene.

    Args:
        file: the script.
        format_id: of the configuration.
        document: the settings.
        refuses: Hydra refuses a key that the configuration does not have, unless a
            `+` adds it. The configuration may be any: only slips of known keys count.
    """
    table = keys_of_format(format_id)
    keys = tuple(
        StatedKey(
            setting.path,
            setting.value,
            word_place(file, dotted(setting.path), setting.word),
            is_block=bool(section(setting.value)),
            only_if=setting.word.only_if,
        )
        for setting in document.settings
        if not setting.sign or (table is not None and table.is_known(setting.path))
    )
    catalogue = _refusing(format_id) if refuses else table
    is_copied = holds_package(file, table.packages) if table is not None else False
    return KeyedFile(file, format_id, keys, catalogue, is_beside_source=is_copied)


@cache
def _refusing(format_id: str) -> FrameworkKeys | None:
    table = keys_of_format(format_id)
    if table is None:
        return None
    return table._replace(default_policy="reject", policies=(), open_at_top=True)


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

    def __init__(self, source: Source, start: ShellWord, flags: Flags) -> None:
        """Take the flags of the program that `start` names."""
        super().__init__(source, start, flags.settings)
        self._named = flags.named

    def place(self, path: KeyPath) -> Place:
        """Return the word that states the value at a path, or the program."""
        place = super().place(path)
        flag = next(
            (
                self._named[path[:length]]
                for length in range(len(path), 0, -1)
                if path[:length] in self._named
            ),
            place.key,
        )
        return place._replace(key=flag)

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Return why a value is not known, where only the job knows it."""
        for setting in self.settings:
            if setting.path == path[: len(setting.path)] and not setting.is_known:
                return Resolution(is_known=False, note=unresolved(setting.word))
        return None


def program_and_arguments(
    command: ShellCommand,
) -> tuple[ShellWord, Sequence[ShellWord]] | None:
    """Return the training program of a command, and the words after it."""
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


def flag_names(arguments: Sequence[ShellWord]) -> Iterator[str]:
    """Return the long flags among words, without their dashes and with underscores."""
    for word in arguments:
        if word.text.startswith("--"):
            yield word.text[2:].partition("=")[0].replace("-", "_")


def read_flags(
    file: str, arguments: Sequence[ShellWord], table: FrameworkKeys, path_of: PathOf
) -> Flags:
    """Return the settings among the words after a program, of equal ones the last."""
    arguments = [argument for argument in arguments if not _is_all_arguments(argument)]
    result = last_options(options(arguments))
    settings: list[Override] = []
    named: dict[KeyPath, str] = {}
    refused: list[LoadedAs] = []
    first = next(
        (i for i, argument in enumerate(arguments) if argument.text[:1] == "-"), 0
    )
    surplus = [*arguments[:first]]
    for flag, values, word in result.values():
        path = path_of(flag, table)
        row = table.lookup(path) if path is not None else None
        kind = row.type if row is not None else "any"
        if "list" not in kind:
            surplus += values[1:]
        if path is None:
            continue
        override = _setting(path, (flag, values, word), row, table)
        if not override.word.resolved and _is_switch(row):
            surplus.append(override.word)
        settings.append(override)
        named[override.path] = flag
        if row is not None and (fault := _refused(file, flag, override.word, row)):
            refused.append(fault)
    hidden = next((word.text for word in surplus if may_hold_options(word)), "")
    return Flags(tuple(settings), named, hidden, tuple(refused))


def _is_all_arguments(word: ShellWord) -> bool:
    """Return whether it is `"$@"` or `$*`: the script's own arguments, read as none."""
    return not word.resolved and word.text.strip('"${}') in {"@", "*"}


def _is_switch(row: KeyRow | None) -> bool:
    return row is not None and row.type.split("|")[0] == "bool"


def _setting(
    path: KeyPath, option: Option, row: KeyRow | None, table: FrameworkKeys
) -> Override:
    """Return what a flag states, and the word for it: its value, else the flag."""
    _, values, word = option
    denied = _denied(path, table) if row is None and not values else None
    if denied is not None:
        return Override(denied, value=False, sign="", word=word)
    if not values and is_sure(option):
        return Override(path, value=True, sign="", word=word)
    result = values[0] if values and is_sure(option) else word
    if not result.resolved:
        return Override(path, f"$({unresolved(result)})", "", result)
    kind = row.type if row is not None else "any"
    if "list" in kind and len(values) > 1:
        return Override(
            path, [_typed(value.text, kind) for value in values], "", result
        )
    value = _typed(result.text, kind)
    if _is_switch(row) and not isinstance(value, bool):
        return Override(path, value=True, sign="", word=word)
    return Override(path, value, "", result)


def _denied(path: KeyPath, table: FrameworkKeys) -> KeyPath | None:
    """Return the switch that a flag with `no_` before its name turns off."""
    name = str(path[-1])
    if not name.startswith("no_"):
        return None
    switch = (*path[:-1], name.removeprefix("no_"))
    return switch if _is_switch(table.lookup(switch)) else None


def _typed(text: str, kind: str) -> object:
    """Return what a parser of arguments makes of a text, by the type of its flag."""
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


def _refused(file: str, flag: str, word: ShellWord, row: KeyRow) -> LoadedAs | None:
    """Return a text that stops the parser of arguments when the job starts."""
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
    """Return the flags for the rules on configuration hygiene."""
    keys = tuple(
        StatedKey(
            setting.path,
            setting.value,
            word_place(file, flags.named[setting.path], setting.word),
            only_if=setting.word.only_if,
        )
        for setting in flags.settings
    )
    is_copied = holds_package(file, table.packages)
    own = {plain_word(key.path[-1]) for key in keys if not table.is_known(key.path)}
    return KeyedFile(
        file,
        format_id,
        keys,
        table,
        loaded_as=flags.refused,
        is_beside_source=is_copied,
        own_words=words_of_programs(file) & own if own else frozenset(),
    )


def joined_keys(files: Sequence[KeyedFile | None]) -> KeyedFile | None:
    """Return the flags of several commands of one script, each place once."""
    known = [file for file in files if file is not None]
    if not known:
        return None
    keys = {key.at: key for keyed_file in known for key in keyed_file.keys}
    refused = dict.fromkeys(
        fault for keyed_file in known for fault in keyed_file.loaded_as
    )
    return known[0]._replace(keys=(*keys.values(),), loaded_as=(*refused,))


def stated_alone(reading: Reading) -> Reading:
    """Return the reading with what the flags say, and nothing from their absence.

    A file that is not there, or a program of its own, may say otherwise.
    """
    facts = reading.facts.facts
    facts[:] = [fact for fact in facts if fact.places and fact.status != "default"]
    return reading


def with_hidden(reading: Reading, hidden: str) -> Reading:
    """Return the reading with defaults unknown, as more flags may be out of sight."""
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
