"""The keys that a training framework knows, and what it does with any other key."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from speccheck.validator.evidence.accepted_values import (
    Accepted,
    Loader,
    TypedRow,
    accepted,
    accepted_block,
)
from speccheck.validator.evidence.key_relations import KeyRelations
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath, Place

if TYPE_CHECKING:
    from speccheck.validator.evidence.spelling import NameTable

# Releases named by year (Megatron-LM 23.04, torchtitan 2024-07) came before the
# numbered ones of the same framework; no framework here has a major number this high.
FIRST_CALENDAR_NUMBER = 20

_VERSION = lazy_pattern(
    r"\s*(?P<framework>.*?)(?P<between>[\s_@:=<>~!^-]*)(?:(?<![a-z])[vr])?"
    r"(?P<number>\d+(?:[.-]\d+)*)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NEWEST = ("head", "main", "master", "nightly", "last-toml")
_FAMILIES = {
    "core": "megatron-lm",
    "mcore": "megatron-lm",
    "megatron": "megatron-lm",
    "megatron-core": "megatron-lm",
    "megatron-lm-core": "megatron-lm",
    "hf": "transformers",
    "hf-trainer": "transformers",
    "hf-training-arguments": "transformers",
    "huggingface-transformers": "transformers",
}


class FrameworkVersion(Record):
    """A version as a user or a table states it; no number means the newest state."""

    framework: str | None
    number: tuple[int, ...]
    or_newer: bool = False

    def at_least(self, other: "FrameworkVersion") -> bool:
        """Return whether this is surely `other` or a later version."""
        return _order(self.number) >= _order(other.number)

    def surely_before(self, other: "FrameworkVersion") -> bool:
        """Return whether this is surely earlier; 4.57 may be 4.57.1, so it is not."""
        if self.or_newer or self.number == other.number[: len(self.number)]:
            return False
        return _order(self.number) < _order(other.number)


class StatedVersion(Record):
    """The release of a package, as a file beside the configuration names it.

    package: in lower case with dashes, as PyPI writes it (`transformers`).
    text: the release, without operators (`4.57.1`).
    """

    package: str
    text: str
    place: Place


def _order(number: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    if not number:
        return 2, number
    return int(number[0] < FIRST_CALENDAR_NUMBER), number


@lru_cache(maxsize=256)  # the same few versions of a table, for key after key
def parse_version(text: str) -> FrameworkVersion:
    """Read `4.57.1`, `transformers 4.57.1`, `core_v0.12.3`, `Megatron-LM core 0.14+`.

    Pre-release and local parts (`rc1`, `+cu121`) are dropped. Raises ValueError when
    the text names neither a number nor the newest state (`HEAD`, `main`, `nightly`).
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        *framework, last = text.lower().split() or [""]
        if last not in _NEWEST:
            message = f"no version number in {text!r}"
            raise ValueError(message)
        return FrameworkVersion(_family(" ".join(framework)), (), or_newer=False)
    rest = match["rest"].strip().lower()
    return FrameworkVersion(
        _family(match["framework"]),
        tuple(int(part) for part in re.split("[.-]", match["number"])),
        ">" in match["between"] or rest == "+" or rest.startswith(("+ ", "or ")),
    )


def _family(text: str) -> str | None:
    name = "-".join(text.lower().split()).strip("-_=<>~!^ ")
    return _FAMILIES.get(name, name) or None


def is_in_range(version: FrameworkVersion | None, text: str) -> bool | None:
    """Return whether `version` lies in `<=0.16`, `>=0.2` or `0.1`; None when it may."""
    if version is None:
        return None
    bound = tuple(int(part) for part in text.lstrip("<>=").split("."))
    number = version.number[: len(bound)]
    if version.number and len(number) < len(bound):
        return None
    order, limit = _order(number), _order(bound)
    if text.startswith(">="):
        return True if order >= limit else (None if version.or_newer else False)
    inside = order <= limit if text.startswith("<=") else order == limit
    return (None if order <= limit else False) if version.or_newer else inside


UnknownKeyPolicy = Literal["reject", "ignore", "warn"]
KeyValue: TypeAlias = (
    "bool | int | float | str | Sequence[KeyValue] | Mapping[str, KeyValue] | None"
)
MILDEST_FIRST: tuple[UnknownKeyPolicy, ...] = ("ignore", "warn", "reject")


WORKED_OUT = "is worked out by the framework"


class KeyRow(Record):
    """One tabulated key.

    renamed: what takes its place is the same key under another name.
    defaults: (tabulated version from which it holds, value), oldest first; a pair
    without value where the framework computes it; empty where it is not known.
    sentinels: (value, meaning), of values that are no amounts: -1 fills the mesh.
    """

    path: str
    type: str = "any"
    choices: Sequence[KeyValue] = ()
    range: str = ""
    since: str = ""
    removed_in: str = ""
    deprecated: bool = False
    deprecated_by: Sequence[str] = ()
    renamed: bool = False
    aliases: Sequence[str] = ()
    defaults: Sequence[Sequence[KeyValue]] = ()
    defaults_by_group: Mapping[str, KeyValue] | None = None
    sentinels: Sequence[tuple[KeyValue, str]] = ()

    def meaning_of(self, value: object) -> str:
        """Return what a value means that is no amount; empty for an amount.

        A default below zero is none either: the framework works the amount out.
        """
        if isinstance(value, bool) or value is None:
            return ""
        for sentinel, meaning in self.sentinels:
            if str(value) == str(sentinel):
                return meaning
        is_below = str(value).startswith("-")
        defaults = (str(step[1]) for step in self.defaults if len(step) > 1)
        return WORKED_OUT if is_below and str(value) in defaults else ""

    def asks_nothing(self, value: object) -> bool:
        """Return whether a value is null, or off where the key is off without it."""
        is_off = value is False or (isinstance(value, str) and value.lower() == "no")
        defaults = [step[1] for step in self.defaults if len(step) > 1]
        return value is None or (
            is_off and all(not item or str(item).lower() == "no" for item in defaults)
        )


class KeyPolicy(Record):
    """What happens to an unknown key below `section`, in `versions` or in all."""

    section: str
    policy: UnknownKeyPolicy
    versions: str = ""


def policy_at(
    rows: Sequence[KeyPolicy], version: FrameworkVersion | None
) -> UnknownKeyPolicy:
    """Return the policy of a section in `version`; the mildest of those it may be."""
    fit = [(row, is_in_range(version, row.versions)) for row in rows if row.versions]
    for row, inside in fit:
        if inside:
            return row.policy
    possible = {row.policy for row, inside in fit if inside is None}
    possible |= {row.policy for row in rows if not row.versions}
    possible = possible or {row.policy for row in rows}
    return next(policy for policy in MILDEST_FIRST if policy in possible)


class KnownDefault(Record):
    """A default that the table knows; the value may be None (null)."""

    value: KeyValue


class Suggestion(Record):
    """What an unknown key was probably meant to be.

    `spelling`: a sibling with a slip of the keyboard. `word`: a sibling with another
    word in it. `level`: the same name at another place of the file. `foreign`: what
    `framework` calls by the name that was written.
    """

    path: str
    kind: Literal["spelling", "word", "level", "foreign"]
    framework: str = ""


MINOR = 2  # parts of a number that name a minor release
_KEPT = 8192  # paths whose rows are kept: files share keys, and five rules ask for each
FEW_PLACES = 2  # a name that stands in more places says nothing by itself


@lru_cache(maxsize=_KEPT)
def dotted(path: KeyPath) -> str:
    """Return the path of tables: ("datasets", 0, "path") is `datasets[].path`."""
    parts: list[str] = []
    for part in path:
        if isinstance(part, str):
            parts.append(part)
        elif parts:
            parts[-1] += "[]"
    return ".".join(parts)


def _nowhere(_: str) -> None:
    """Return None: no other framework has the key."""


def _no_relations() -> KeyRelations:
    """Return no relation: none is tabulated."""
    return KeyRelations(())


class FrameworkKeys(Record):
    """The key table of one framework; only ever equal to itself.

    Attributes:
        framework: name of the table.
        family: framework that a version without a name belongs to.
        versions: the tabulated ones, oldest first; other releases exist in between.
        rows: by path: `*` is any one name, `**` anything below, `[]` items of a list.
        blocks: paths that only hold other keys and have no row.
        policies: for sections; `default_policy` holds elsewhere.
        open_at_top: see `is_open`.
        opened_by: keys that open the table when they are set.
        settled: policies for whose keys the table holds in later releases, too.
        elsewhere: for a key of another framework the name of that, and the key here.
        reader: what reads the keys, as messages name it: axolotl, SkyPilot, MPIJob.
        loaders: how the loader of each format takes values, by format.
        relations: loads what its keys do together.
        required: keys that every tabulated release demands.
        packages: the folders of its Python package in a repository.
    """

    framework: str
    family: str
    versions: tuple[str, ...]
    rows: Mapping[str, KeyRow]
    blocks: frozenset[str]
    aliases: Mapping[str, str]
    patterns: Sequence[str]
    default_policy: UnknownKeyPolicy
    policies: tuple[KeyPolicy, ...] = ()
    open_at_top: bool = False
    opened_by: tuple[str, ...] = ()
    settled: tuple[UnknownKeyPolicy, ...] = ()
    elsewhere: Callable[[str], tuple[str, str] | None] = _nowhere
    reader: str = ""
    loaders: Mapping[str, Loader] = {}
    relations: Callable[[], KeyRelations] = _no_relations
    required: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def lookup(self, path: KeyPath) -> KeyRow | None:
        """Return the row of a key, an alias, another spelling or a free name; or None.

        A block that has no row of its own is known and yet has no row.
        """
        return _row(self, dotted(path))

    def accepted(self, path: KeyPath, format_id: str) -> Accepted | None:
        """Return what may stand at a key in a file of a format; None: not known."""
        loader = self.loaders.get(format_id)
        name = _tabulated(self, dotted(path)) if loader is not None else None
        if name is None or (name not in self.rows and f"{name}[]" in self.blocks):
            return None
        return _accepted(self, name, format_id)

    def is_known(self, path: KeyPath) -> bool:
        """Return whether the framework knew the key in any tabulated version."""
        return _tabulated(self, dotted(path)) is not None

    def covers(self, version: FrameworkVersion | None) -> bool:
        """Return whether the table was made from this release or a later one.

        A key that it lacks is then surely none of that release. Of a version that is
        not known, or newer than the table, the same key may be a new one.
        """
        own = self._own(version)
        if own is None or not own.number or own.or_newer:
            return False
        newest = [
            framework_version
            for framework_version in (parse_version(text) for text in self.versions)
            if framework_version.number and self.is_of_family(own, framework_version)
        ]
        return any(
            not framework_version.surely_before(own) for framework_version in newest
        )

    def is_outgrown(self, paths: Iterable[KeyPath]) -> bool:
        """Return whether one of the keys came with the newest of the tabulated states.

        Who uses it may use what came after the table was made as well.
        """
        newest = {text for text in self.versions if not parse_version(text).number}
        newest.add(self.newest)
        rows = (self.lookup(path) for path in paths)
        return any(row is not None and row.since in newest for row in rows)

    @property
    def newest(self) -> str:
        """The newest release that the table was made from."""
        numbered = [text for text in self.versions if parse_version(text).number]
        return (numbered or [*self.versions, ""])[-1]

    def standing(self, path: KeyPath) -> Literal["known", "unknown", "outdated"]:
        """Return whether no version knows a key, or one removed or deprecates it."""
        return _standing(self, path)

    def policy(
        self, path: KeyPath, version: FrameworkVersion | None
    ) -> UnknownKeyPolicy:
        """Return what the framework does with an unknown key at `path`.

        Where that changed and the version does not decide it, the mildest of the
        policies: what is not known never makes an error.
        """
        policies = self._policies_for(path)
        return (
            policy_at(policies, self._own(version)) if policies else self.default_policy
        )

    def is_open(self, path: KeyPath) -> bool:
        """Return whether a training script may define a key of its own at `path`.

        An unknown key is a fault there only when it is a known one misspelt
        (a suggestion of the kind `spelling`).
        """
        return self.open_at_top and not self._policies_for(path)

    def suggest(self, path: KeyPath) -> Suggestion | None:
        """Return what an unknown key was probably meant to be, or None."""
        from speccheck.validator.evidence import spelling  # noqa: PLC0415 - rare

        above, _, leaf = dotted(path).removesuffix("[]").rpartition(".")
        parent = _tabulated(self, above) if above else ""
        index = _name_index(self)
        if parent is not None:
            siblings = index.below(parent.removesuffix("[]"))
            match = spelling.closest(leaf, siblings, lambda: index.words)
            if match is not None:
                prefix = f"{above}." if above else ""
                return Suggestion(prefix + match.name, match.kind)
        elsewhere = index.by_leaf.get(leaf, ())
        if not 0 < len(elsewhere) <= FEW_PLACES:
            foreign = self.elsewhere(dotted(path))
            return Suggestion(foreign[1], "foreign", foreign[0]) if foreign else None
        nearest = min(elsewhere, key=lambda name: (name.count("."), name))
        return Suggestion(nearest, "level")

    def removed(self, path: KeyPath, version: FrameworkVersion | None) -> bool:
        """Return whether `version` surely lacks the key.

        Never for an unknown version.
        """
        row, version = self.lookup(path), self._own(version)
        if row is None or not row.removed_in or version is None:
            return False
        gone = parse_version(row.removed_in)
        return self.is_of_family(version, gone) and (
            version.at_least(gone) or self._is_whole_minor(version, gone)
        )

    def removed_everywhere(self, path: KeyPath) -> bool:
        """Return whether no tabulated version has the key.

        Older ones may have had it.
        """
        row = self.lookup(path)
        if row is None or not row.removed_in:
            return False
        gone = parse_version(row.removed_in)
        return self._version_before(gone) is None and self.is_of_family(None, gone)

    def too_new(self, path: KeyPath, version: FrameworkVersion | None) -> bool:
        """Return whether the key surely came after `version`."""
        row, version = self.lookup(path), self._own(version)
        if row is None or not row.since or version is None:
            return False
        since = parse_version(row.since)
        before = self._version_before(since)
        if before is None or not self.is_of_family(version, since):
            return False
        return version.surely_before(since) and (
            before.at_least(version) or before.number[:MINOR] == version.number[:MINOR]
        )

    def deprecated(self, path: KeyPath, version: FrameworkVersion | None) -> bool:
        """Return whether the key is surely deprecated.

        It is not yet deprecated in a version that lacks each of its successors. Where
        the version is not known, only a key counts whose successor every tabulated
        version has: another one may still be the right key of the version in use.
        """
        row = self.lookup(path)
        if row is None or not row.deprecated:
            return False
        successors = [tuple(name.split(".")) for name in row.deprecated_by]
        if self._own(version) is None:
            rows = [self.lookup(successor) for successor in successors]
            return any(row and not row.since for row in rows)
        return not successors or not all(
            self.too_new(successor, version) for successor in successors
        )

    def default(
        self, path: KeyPath, version: FrameworkVersion | None, group: str = ""
    ) -> KnownDefault | None:
        """Return the default in `version`, or None when the table does not settle it.

        Args:
            path: of the key.
            version: None where it is not known: then only a default that never changed.
            group: the class that reads the file (`transformers`, `trl-dpo`), where
                classes of the framework differ.
        """
        row, version = self.lookup(path), self._own(version)
        if row is None or not row.defaults:
            return None
        if row.defaults_by_group is not None:
            if not group:
                return None
            if group in row.defaults_by_group:
                return KnownDefault(row.defaults_by_group[group])
        if len(row.defaults) == 1:
            return _known(row.defaults[0])
        return self._changed_default(row, version) if version else None

    def _changed_default(
        self, row: KeyRow, version: FrameworkVersion
    ) -> KnownDefault | None:
        """Return the step of a changed default.

        None if `version` does not settle it.
        """
        starts = [parse_version(str(since)) for since, *_ in row.defaults if since]
        if not all(self.is_of_family(version, start) for start in starts):
            return None
        # a first step without version holds from before the oldest tabulated one
        passed = sum(version.at_least(start) for start in starts)
        step = passed - 1 + len(row.defaults) - len(starts)
        if step < 0 or (version.or_newer and passed < len(starts)):
            return None
        return _known(row.defaults[step])

    def _policies_for(self, path: KeyPath) -> list[KeyPolicy]:
        """Return the policies of the innermost section around `path`."""
        parents = dotted(path).split(".")[:-1]
        for length in range(len(parents), -1, -1):
            section = ".".join(parents[:length])
            policies = [row for row in self.policies if row.section == section]
            if policies:
                return policies
        return []

    def _own(self, version: FrameworkVersion | None) -> FrameworkVersion | None:
        """Return the version, unless it is one of a framework outside the table."""
        if version is None or version.framework in {None, self.family, self.framework}:
            return version
        families = {parse_version(text).framework for text in self.versions}
        return version if version.framework in families else None

    def is_of_family(
        self, framework_version: FrameworkVersion | None, other: FrameworkVersion
    ) -> bool:
        """Return whether two releases are of one package, and so in an order."""
        names = {self.framework: self.family, None: self.family}
        first = framework_version.framework if framework_version else None
        return names.get(first, first) == names.get(other.framework, other.framework)

    def _version_before(self, version: FrameworkVersion) -> FrameworkVersion | None:
        """Return the last tabulated version of the same family before `version`."""
        tabulated = (parse_version(text) for text in self.versions)
        same = [
            framework_version
            for framework_version in tabulated
            if self.is_of_family(framework_version, version)
        ]
        return next(
            (
                framework_version
                for framework_version in same[::-1]
                if not framework_version.at_least(version)
            ),
            None,
        )

    def _is_whole_minor(
        self, version: FrameworkVersion, gone: FrameworkVersion
    ) -> bool:
        """Return whether `version` names the minor release in which a key went away."""
        before = self._version_before(gone)
        return (
            before is not None
            and version.number == gone.number[:MINOR] != before.number[:MINOR]
        )


@lru_cache(maxsize=_KEPT)
def _row(table: FrameworkKeys, text: str) -> KeyRow | None:
    return table.rows.get(_tabulated(table, text) or "")


@lru_cache(maxsize=_KEPT)
def _accepted(table: FrameworkKeys, name: str, format_id: str) -> Accepted:
    loader = table.loaders[format_id]
    row = table.rows.get(name)
    if row is None:
        return accepted_block(loader)
    defaults = [step[1] for step in row.defaults if len(step) > 1]
    takes_null = None in defaults
    no_amounts = [*defaults, *(value for value, _ in row.sentinels)]
    typed = TypedRow(row.path, row.type, row.choices, row.range, takes_null, no_amounts)
    return accepted(typed, loader)


@lru_cache(maxsize=_KEPT)
def _tabulated(table: FrameworkKeys, text: str) -> str | None:
    """Return the tabulated name that `text` stands for, or None."""
    if text in table.rows or text in table.blocks:
        return text
    if text.endswith("[]"):
        return _tabulated(table, text[:-2])
    bare = text.removeprefix("--")  # flags are written with dashes or underscores
    for variant in (text, f"--{bare.replace('_', '-')}", f"--{bare.replace('-', '_')}"):
        if variant in table.rows:
            return variant
        if variant in table.aliases:
            return table.aliases[variant]
    segments = text.split(".")
    for length in range(len(segments) - 1, 0, -1):
        head = table.aliases.get(".".join(segments[:length]))
        if head is not None:
            return _tabulated(table, ".".join([head, *segments[length:]]))
    by_first = _patterns(table)
    first = segments[0]
    candidates = [
        *by_first.get(first, ()),
        *(by_first.get(first[:-2], ()) if first.endswith("[]") else ()),
        *by_first.get("*", ()),
    ]
    fitting = [row for row in candidates if _fits(row[2], segments)]
    return min(fitting)[1] if fitting else None


@lru_cache(maxsize=64)
def _patterns(
    table: FrameworkKeys,
) -> Mapping[str, Sequence[tuple[int, str, Sequence[str]]]]:
    """Return patterns by their first part, `*` for those that begin with a free one.

    Each with its place in the table, where the first that fits counts.
    """
    result: dict[str, list[tuple[int, str, Sequence[str]]]] = {}
    for place, name in enumerate(table.patterns):
        parts = name.split(".")
        first = "*" if "*" in parts[0] else parts[0]
        result.setdefault(first, []).append((place, name, parts))
    return result


# A table is known by itself, and looked up for key after key: as objects are, in C.
FrameworkKeys.__eq__ = object.__eq__  # type: ignore[method-assign]
FrameworkKeys.__hash__ = object.__hash__  # type: ignore[method-assign]


class _NameIndex:
    """All names of a table, by the block that they stand in and by their last part."""

    def __init__(self, table: FrameworkKeys) -> None:
        from speccheck.validator.evidence import spelling  # noqa: PLC0415 - rare

        self.by_leaf: dict[str, list[str]] = {}
        self._leaves: dict[str, list[str]] = {}
        self._below: dict[str, spelling.NameTable] = {}
        for name in (*table.rows, *table.aliases, *table.blocks):
            leaf = _leaf(name)
            self.by_leaf.setdefault(leaf, []).append(name)
            self._leaves.setdefault(_parent(name), []).append(leaf)
        self.words = frozenset(
            word for leaf in self.by_leaf for word in spelling.words_of(leaf)
        )

    def below(self, block: str) -> "NameTable":
        """Return the names that may stand in a block."""
        result = self._below.get(block)
        if result is None:
            from speccheck.validator.evidence import spelling  # noqa: PLC0415 - rare

            leaves = self._leaves.get(block, ())
            result = spelling.NameTable(leaf for leaf in leaves if "*" not in leaf)
            self._below[block] = result
        return result


@lru_cache(maxsize=64)
def _name_index(table: FrameworkKeys) -> _NameIndex:
    return _NameIndex(table)


def _parent(name: str) -> str:
    return name.rpartition(".")[0].removesuffix("[]")


def _leaf(name: str) -> str:
    return name.removesuffix("[]").rpartition(".")[2]


def _fits(pattern: Sequence[str], segments: Sequence[str]) -> bool:
    for index, part in enumerate(pattern):
        if part == "**":
            return len(segments) > index
        if index >= len(segments):
            return False
        segment = segments[index]
        if part.endswith("*"):
            if not segment.startswith(part[:-1]):
                return False
        elif part not in {segment, segment.replace("[]", "")}:
            return False
    return len(pattern) == len(segments)


def _known(default: Sequence[KeyValue]) -> KnownDefault | None:
    """Return the value of a step; None for a step that the framework computes."""
    return KnownDefault(default[1]) if len(default) > 1 else None


@lru_cache(maxsize=_KEPT)
def _standing(
    table: FrameworkKeys, path: KeyPath
) -> Literal["known", "unknown", "outdated"]:
    name = _tabulated(table, dotted(path))
    if name is None:
        return "unknown"
    row = table.rows.get(name)
    is_outdated = row is not None and (row.removed_in or row.deprecated)
    return "outdated" if is_outdated else "known"
