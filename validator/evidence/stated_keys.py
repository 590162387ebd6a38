"""The files as read: which keys stand in them, how, and what was odd about them."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from speccheck.validator.evidence.framework_keys import FrameworkKeys, FrameworkVersion
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import (
    KeyPath,
    Place,
    Value,
    dotted,
    is_of_branch,
)

if TYPE_CHECKING:
    from speccheck.validator.evidence.accepted_values import Loader
    from speccheck.validator.evidence.forks import CommandParser

# `s3://a`: nothing shorter is an address, and credentials are longer still.
_SHORTEST_TEXT = 6


_LAUNCHES = frozenset({"slurm", "torchrun"})  # formats with lines that launch
_MOST_SLIPS = 2  # keys of one file that resemble no other, by the same hand


class InDocument(Record):
    """The document of a file in which a key stands.

    prefix: where the keys lie in the document, when a format is wrapped in another.
    """

    file: str
    document: int = 0
    prefix: KeyPath = ()


class StatedKey(Record):
    """One key of a file, with the value as the loader of its language gives it.

    Attributes:
        path: of the key in its file.
        value: null, a text, a number, a list or a mapping.
        at: the place, or the document where the path says the rest: of the many keys of
            a run few places are ever asked for.
        is_block: it holds other keys.
        is_sure: the file alone says the value; a shell or a template fills in others.
        value_at: the place of the value where `at` is that of a flag alone.
        only_if: the condition under which it holds, in words: "NNODES is not set".

    """

    path: KeyPath
    value: object
    at: Place | InDocument
    is_block: bool = False
    is_sure: bool = True
    value_at: Place | None = None
    only_if: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether the key has this value wherever its line is used."""
        return self.is_sure and is_of_branch(*filter(None, [self.only_if]))

    @property
    def place(self) -> Place:
        """Where the key stands."""
        if isinstance(self.at, Place):
            return self.at._replace(only_if=self.only_if) if self.only_if else self.at
        path = (*self.at.prefix, *self.path)
        at = Place(self.at.file, dotted(path), path, self.at.document, "key")
        return at._replace(only_if=self.only_if) if self.only_if else at

    @property
    def value_place(self) -> Place:
        """Where its value stands, or the key itself where it has none."""
        return self.value_at or self.place._replace(part="value")


class TwiceStatedKey(Record):
    """The same key twice in one mapping."""

    key: str
    first: Place
    again: Place
    is_equal: bool = False  # both times the same text: whichever counts


class LoadedAs(Record):
    """A text that reaches the framework as another type than its writer means.

    unless: the option of the launcher that is read in its place where it is given.
    """

    key: str
    written: str
    loaded: str  # what the framework sees, in words
    expected: str  # the type that the framework expects
    place: Place
    fatal: bool  # the framework stops on it or computes with the wrong type
    unless: str = ""


def plain_word(word: object) -> str:
    """Return a key or flag as Python names it."""
    return str(word).lstrip("-").replace("-", "_")


class KeyedFile(Record):
    """The keys of one file and the table of its framework.

    version: the release of that framework that the plan runs on.
    version_places: who says so.
    unknown: the keys that no tabulated version knows.
    outdated: the keys that some version removed or deprecates.
    texts: the keys that hold a text long enough to be an address or a credential, an
        item of a list by itself.
    hidden: a text that may hold further keys, so that the lack of one says nothing.
    not_read: what looks like a key and is not read as such, each with why.
    parser: of a command line: the program that reads it.
    is_beside_source: its repository holds a copy of the framework, perhaps a fork.
    own_words: of its keys and values those that this copy, or the programs of the
        repository, name themselves.
    own_program: the program that a command starts in place of the framework's own; it
        checks other things.
    """

    file: str
    format: str
    keys: tuple[StatedKey, ...]
    catalogue: FrameworkKeys | None = None
    version: FrameworkVersion | None = None
    twice: tuple[TwiceStatedKey, ...] = ()
    loaded_as: tuple[LoadedAs, ...] = ()
    refuses_duplicates: bool = False
    version_places: tuple[Place, ...] = ()
    unknown: tuple[StatedKey, ...] = ()
    outdated: tuple[StatedKey, ...] = ()
    texts: tuple[tuple[StatedKey, str], ...] = ()
    hidden: str = ""
    not_read: tuple[tuple[StatedKey, str], ...] = ()
    parser: "CommandParser | None" = None
    is_beside_source: bool = False
    own_words: frozenset[str] = frozenset()
    own_program: str = ""

    def names(self, word: object) -> bool:
        """Return whether the copy, or the programs, of the repository know a word."""
        return plain_word(word) in self.own_words

    def topmost_unknown(self) -> Iterator[StatedKey]:
        """Yield the unknown keys, but none below an unknown block."""
        above: set[KeyPath] = set()
        for key in self.unknown:
            path = key.path
            if any(path[:depth] in above for depth in range(1, len(path) + 1)):
                continue
            above.add(path)
            yield key

    def unlike_keys(self) -> Iterator[StatedKey]:
        """Yield the unknown keys that are no slip of a key beside them.

        Where a script may define keys of its own, they are none; a command line with
        flags of its own is that of a fork as often.
        """
        table, loader = self.catalogue, self.loader
        if table is None:
            return
        is_command_line = loader is not None and loader.language == "shell"
        for key in self.topmost_unknown():
            if table.is_open(key.path) and not is_command_line:
                continue
            meant = table.suggest(key.path)
            if meant is None or meant.kind not in {"spelling", "word"}:
                yield key

    @property
    def is_of_another_parser(self) -> bool:
        """Whether a fork may read the file: slips come alone.

        Several keys like none that is tabulated are the mark of a parser that knows
        more, and refuses other things.
        """
        if self.parser is not None and self.parser.forks:
            return True
        return len([*islice(self.unlike_keys(), _MOST_SLIPS + 1)]) > _MOST_SLIPS

    @property
    def loader(self) -> "Loader | None":
        """How values of the file are taken, where that is known."""
        loader = self.catalogue.loaders.get(self.format) if self.catalogue else None
        return None if self._is_of_another_language(loader) else loader

    @property
    def is_of_another_program(self) -> bool:
        """Whether a program that is not the framework's own reads the keys."""
        return bool(self.own_program) or (
            self.catalogue is not None
            and self._is_of_another_language(self.catalogue.loaders.get(self.format))
        )

    def _is_of_another_language(self, loader: "Loader | None") -> bool:
        """Return whether the file is YAML and the framework takes TOML alone."""
        is_yaml = self.file.endswith((".yaml", ".yml"))
        return is_yaml and loader is not None and loader.language == "toml"

    @property
    def has_open_choices(self) -> bool:
        """Whether keys like none tabulated tell of a parser that may take more words.

        A command line shows that by a single flag, as argparse refuses all others.
        """
        loader = self.loader
        closes = loader is not None and loader.closes_choices
        return self.is_of_another_parser or (closes and any(self.unlike_keys()))

    @property
    def has_own_keys(self) -> bool:
        """Whether the training script defines keys, so that any key may be its own.

        A dataclass of the script may have a key by the name of a tabulated one, of
        another type, and keep it when the framework gives it up.
        """
        table = self.catalogue
        return table is not None and any(
            table.is_open(key.path) for key in self.unknown
        )

    def refers_to_itself(self, text: str) -> bool:
        """Return whether a text names another key of the file, as in OmegaConf."""
        name = text.strip().removeprefix("${").removesuffix("}")
        return any(dotted(key.path) == name for key in self.keys)

    def _is_of_fork(self, key: StatedKey) -> bool:
        """Return whether the program at hand adds a key to those of its framework."""
        return self.parser is not None and self.parser.adds(str(key.path[0]))

    def _is_kept(self, key: StatedKey) -> bool:
        """Return whether a fork has a key and none instead, or a parser of its own.

        A parser that was copied says itself which of its options are outdated.
        """
        parser, table = self.parser, self.catalogue
        if parser is None or not parser.forks or table is None:
            return False
        if parser.is_copied and parser.has(str(key.path[0])):
            return True
        row = table.lookup(key.path)
        instead = row.deprecated_by if row is not None else ()
        return parser.has(str(key.path[0])) and not any(map(parser.has, instead))

    def looked_up(self) -> "KeyedFile":
        """Return the file with its keys sorted once for all rules that read some."""
        unknown: list[StatedKey] = []
        outdated: list[StatedKey] = []
        texts: list[tuple[StatedKey, str]] = []
        table = self.catalogue
        for key in self.keys:
            value = key.value
            if type(value) is str:
                if len(value) >= _SHORTEST_TEXT:
                    texts.append((key, value))
            elif type(value) is list:
                texts += [
                    (key, text)
                    for text in value
                    if type(text) is str and len(text) >= _SHORTEST_TEXT
                ]
            if table is not None:
                standing = table.standing(key.path)
                if standing == "unknown" and not self._is_of_fork(key):
                    unknown.append(key)
                elif standing == "outdated" and not self._is_kept(key):
                    outdated.append(key)
        return self._replace(
            unknown=tuple(unknown), outdated=tuple(outdated), texts=tuple(texts)
        )


class StatedKeys(Record):
    """All files of a plan that have keys."""

    files: tuple[KeyedFile, ...]

    def is_replaced(self, loaded_as: LoadedAs) -> bool | None:
        """Return whether the launch gives what is read instead; None without one."""
        if not loaded_as.unless:
            return False
        launches = [file for file in self.files if file.format in _LAUNCHES]
        if not launches:
            return None
        option = (loaded_as.unless,)
        return any(key.path == option for file in launches for key in file.keys)


class Conflicts(Record):
    """Facts of the plan that were stated with different values."""

    values: tuple[Value[Any], ...]
