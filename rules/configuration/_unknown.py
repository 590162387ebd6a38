"""The keys of a file that its framework does not know."""

from collections.abc import Collection, Iterator, Sequence

from speccheck.validator.evidence.finding import Fix, to_rename
from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    Suggestion,
    dotted,
)
from speccheck.validator.evidence.mending import combined
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.rule import Verdict, unknown


class UnknownKey(Record):
    """A key that the framework does not know."""

    file: KeyedFile
    key: StatedKey
    suggestion: Suggestion | None
    certain: bool  # the file holds only keys of the framework
    may_be_new: bool  # like no tabulated key: a later release or a fork may have it
    stated: Collection[str]  # all keys of the file

    @property
    def name(self) -> str:
        """The key as it is written, with its path."""
        return dotted(self.key.path)

    @property
    def hint(self) -> str:
        """What was probably meant, as the end of a sentence."""
        if self.suggestion is None:
            return ""
        if self.suggestion.kind == "level":
            return f"; it belongs at {self.suggestion.path}"
        if self.suggestion.kind == "foreign":
            framework = self.suggestion.framework
            return (
                f"; that is its name in {framework}, here it is {self.suggestion.path}"
            )
        return f"; did you mean {self.suggestion.path}?"

    @property
    def remedy(self) -> str:
        """The change that the suggestion stands for."""
        if self.suggestion is None:
            return "Remove the key."
        if self.suggestion.kind == "level":
            return f"Move it to {self.suggestion.path}."
        return f"Write {self.suggestion.path}."

    @property
    def fix(self) -> Fix | None:
        """The key by its right name, where it is a slip of one beside it.

        What it says takes effect then.
        """
        slip = self.suggestion
        if (
            slip is None
            or slip.kind not in {"spelling", "word"}
            or not self.key.is_sure
        ):
            return None
        name = str(self.key.path[-1])
        above, _, meant = slip.path.rpartition(".")
        parent = dotted(self.key.path).removesuffix("[]").rpartition(".")[0]
        if above != parent or slip.path in self.stated:
            return None
        if not self._may_be(slip.path):
            return None
        change = to_rename(self.key.value_place, meant)
        return combined(f"rename {name} to {meant}", [change])

    def _may_be(self, meant: str) -> bool:
        """Return whether a value of this type may stand at the key that is meant."""
        table, value = self.file.catalogue, self.key.value
        row = table.lookup(tuple(meant.split("."))) if table is not None else None
        kinds = set(row.type.split("|")) if row is not None else {"any"}
        if isinstance(value, bool):
            return bool(kinds & {"bool", "any", "flag"})
        if isinstance(value, int | float):
            return kinds - {"null"} != {"bool"}
        return not isinstance(value, dict) or bool(kinds & {"object", "map", "any"})


def unknown_keys(file: KeyedFile, *, refused: bool) -> Iterator[UnknownKey]:
    """Yield a file's unknown keys that its framework refuses or passes over.

    Nothing below an unknown block.
    """
    table = file.catalogue
    if table is None or not _may_hold(table, refused=refused):
        return
    opening = table.opened_by
    is_opened = bool(opening) and any(dotted(key.path) in opening for key in file.keys)
    is_foreign = file.is_of_another_parser
    is_covered = table.covers(file.version) or (
        file.version is None
        and not is_foreign
        and not table.is_outgrown(key.path for key in file.keys)
    )
    # A file that names no release may be read by a fork, and a recipe may read keys of
    # its own: a key like none tabulated says so.
    is_patched = file.version is None
    stated = {dotted(key.path) for key in file.keys} if file.unknown else set()
    for key in file.topmost_unknown():
        policy = table.policy(key.path, file.version)
        if (policy == "reject") != refused:
            continue
        suggestion = table.suggest(key.path)
        is_likely = suggestion is not None or not is_patched
        is_settled = policy in table.settled and not is_foreign
        is_settled = is_settled and (is_likely or not refused)
        yield UnknownKey(
            file,
            key,
            suggestion,
            certain=not is_opened and not table.is_open(key.path),
            may_be_new=file.names(key.path[-1])
            or (
                not is_settled
                and not (is_covered and is_likely)
                and not _is_telling(suggestion, key, stated, is_foreign=is_foreign)
            ),
            stated=stated,
        )


def perhaps_new(keys: Sequence[UnknownKey]) -> Verdict:
    """Return the verdict on keys that a later release, or a fork, may have."""
    table = keys[0].file.catalogue
    reader = table.reader if table else ""
    # The releases of a table of many readers are those of each.
    newest = f" up to {table.newest}" if table and reader == table.family else ""
    names = keys[0].name
    if len(keys) > 1:
        names += f" and {len(keys) - 1} more keys"
    is_one = len(keys) == 1
    are, them = ("is", "it") if is_one else ("are", "them")
    return unknown(
        f"{names} {are} in no tabulated release of {reader}{newest}; whether a "
        f"later one or a fork has {them} depends on the version",
        missing=["run.framework_version"],
        at=[key.key.place for key in keys],
    )


def _is_telling(
    suggestion: Suggestion | None,
    key: StatedKey,
    stated: Collection[str],
    *,
    is_foreign: bool,
) -> bool:
    """Return whether the key is surely meant to be another one.

    A slip of the keyboard always tells, and nothing else where another parser may read
    the file. Another word does not when the key with the
    tabulated word is stated as well. The same name at another level tells only of
    single keys at the top: sections below have names in common, and a later release
    gives one of them what another has already.
    """
    if suggestion is None or suggestion.kind == "spelling":
        return suggestion is not None
    if suggestion.path in stated or is_foreign:
        return False
    return suggestion.kind != "level" or (len(key.path) == 1 and not key.is_block)


def _may_hold(table: FrameworkKeys, *, refused: bool) -> bool:
    """Return whether the framework treats any unknown key in this way."""
    policies = (table.default_policy, *(row.policy for row in table.policies))
    return any((policy == "reject") == refused for policy in policies)
