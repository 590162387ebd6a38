"""Settings on a command line, `a.b.c=value`: a document whose places are its words.

Grammar: https://hydra.cc/docs/advanced/override_grammar/basic. Of a word that the shell
fills in when the job runs nothing is known but that it is there.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Literal

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.evidence.value import KeyPath, Place, Span, dotted
from speccheck.validator.sources.documents.document import Document, TreeNode
from speccheck.validator.sources.launching import word_place
from speccheck.validator.sources.mapping import parse_number, section
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    Reference,
    Source,
)
from speccheck.validator.sources.shell.script import Word

_OVERRIDE = lazy_pattern(r"(?s)(\+\+|\+|~)?([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?:=(.*))?$")
_INTEGER = lazy_pattern(r"[+-]?[0-9][0-9_]*$")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}
_BRACKETS = {"[": "]", "{": "}"}
_QUOTES = "'\""
_MOST_NESTED = 20
_LONGEST_INTEGER = 400
# How far above a script the configurations of its repository may lie.
_ASCENTS = (".", "..", "../..", "../../..", "../../../..")


class Override(Record):
    """One setting of a command line.

    sign: `+` adds a key, `++` sets it whether it is there or not, `~` removes it.
    """

    path: KeyPath
    value: object
    sign: str
    word: Word

    @property
    def is_known(self) -> bool:
        """Whether the value stands in the script."""
        return self.word.resolved


def overrides(words: Iterable[Word], *, top_level: bool) -> Iterator[Override]:
    """The settings among the words of a command.

    Args:
        words: the words after the program.
        top_level: whether `key=value` without a dot is a setting too; in Hydra it
            chooses a group of configurations.
    """
    for word in words:
        found = _OVERRIDE.match(word.text)
        if found is None:
            continue
        sign, name, text = found[1] or "", found[2], found[3]
        if "." not in name and not top_level:
            continue
        if text is None and sign != "~":
            continue
        path = tuple(name.split("."))
        value = parsed(text or "") if word.resolved else _unknown(text or "")
        yield Override(path, value, sign, word)


def _unknown(text: str) -> str:
    """What stands for a text that the shell fills in, and refers to nothing here."""
    names = "".join(sign for sign in text if sign not in "${}()")
    return f"$({names[:60]})"


def parsed(text: str, depth: int = 0) -> object:
    """What Hydra makes of the text of a value."""
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
    """The parts between commas that stand in no brackets and no quotes."""
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
        start: Word,
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
        for one in settings:
            if one.sign == "~":
                continue
            _set(data, one.path, one.value)
            kept[one.path] = one
        super().__init__(
            name=source.name,
            language="yaml",
            # What refers to other values is seen in the text of a document.
            text="\n".join(str(one.value) for one in kept.values()),
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
        """The word that states the value at a path, or the one around it."""
        for length in range(len(path), 0, -1):
            found = self._settings.get(path[:length])
            if found is not None:
                return word_place(self.name, dotted(path), found.word)
        return word_place(self.name, dotted(path) or self._start.text, self._start)

    def span(
        self, path: KeyPath, *, part: Literal["key", "value"] = "value"
    ) -> Span | None:
        """Where the word stands."""
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


class Seen(Record):
    """What became of a command with the configuration that it names.

    config: the file, relative to the script; empty where none was found.
    is_whole: nothing that the values come from is missing.
    """

    reading: Reading
    config: str
    is_whole: bool


def read_over(
    document: OverrideDocument, reader: Reader, config: Parent | None
) -> Seen:
    """Read settings over the configuration that their command names.

    Args:
        document: the settings.
        reader: of the format that they belong to.
        config: the file that the command names; None where it names none, so that the
            document's own defaults list counts.
    """
    from speccheck.validator.sources.composition import (  # noqa: PLC0415 - dear
        compose,
    )

    def parents(one: Document) -> tuple[Parent, ...]:
        if one is document and config is not None:
            return (config,)
        return reader.parents(one) if reader.parents is not None else ()

    composed = compose(document, reader._replace(parents=parents))
    found = ""
    if config is not None and composed.parents:
        home = os.path.dirname(document.name)
        found = os.path.relpath(composed.parents[0].name, home or ".")
    return Seen(reader.read(composed.document), found, not composed.gaps)


def merged(document: OverrideDocument, config: Parent) -> Document:
    """The settings over the file that their command names, and nothing besides."""
    from speccheck.validator.sources.composition import (  # noqa: PLC0415 - dear
        compose,
    )

    def parents(one: Document) -> tuple[Parent, ...]:
        return (config,) if one is document else ()

    bare = Reader("", "config", _never, _nothing, keys=(), parents=parents)
    return compose(document, bare).document


def _never(document: Document) -> float:
    del document
    return 0.0


def _nothing(document: Document) -> Reading:
    return Reading(FactSheet.of(document))


def config_parent(target: str, folders: Sequence[str]) -> Parent:
    """The file of that name, in folders beside a script or in the repository above.

    Folders with a full path are those of the machine that runs the job: here the file
    may lie beside the script.
    """
    places = [folder for folder in folders if not folder.startswith(("/", "$"))] or [
        "."
    ]
    found = dict.fromkeys(f"{home}/{one}" for one in places for home in _ASCENTS)
    return Parent(target, (), folders=(*found,))


def with_suffix(name: str) -> str:
    """The file of a configuration that Hydra is given by name."""
    return name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"


def over_reference(seen: Seen, reference: Reference) -> Reading:
    """The reading of a command that names a file: its settings win over the file's."""
    reading = seen.reading
    told = tuple(sorted({fact.name for fact in reading.facts.facts}))
    target = seen.config or reference.target
    named = reference._replace(target=target, replaces=told)
    return reading._replace(references=(named, *reading.references))


def without_defaults(reading: Reading) -> Reading:
    """The reading without the framework's defaults: a file unseen may say otherwise."""
    facts = reading.facts.facts
    facts[:] = [fact for fact in facts if fact.status != "default"]
    return reading


def keyed_settings(
    file: str, format_id: str, document: OverrideDocument, *, refuses: bool
) -> KeyedFile:
    """The settings for the rules on configuration hygiene.

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
            one.path,
            one.value if one.is_known else None,
            word_place(file, dotted(one.path), one.word),
            is_block=bool(section(one.value)),
        )
        for one in document.settings
        if not one.sign or (table is not None and table.is_known(one.path))
    )
    catalogue = _refusing(format_id) if refuses else table
    return KeyedFile(file, format_id, keys, catalogue)


@cache
def _refusing(format_id: str) -> FrameworkKeys | None:
    table = keys_of_format(format_id)
    if table is None:
        return None
    return table._replace(default_policy="reject", policies=(), open_at_top=True)
