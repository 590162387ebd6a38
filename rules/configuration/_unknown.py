"""The keys of a file that its framework does not know."""

from collections.abc import Iterator

from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    Suggestion,
    dotted,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.evidence.value import KeyPath


class UnknownKey(Record):
    """A key that the framework does not know."""

    file: KeyedFile
    key: StatedKey
    suggestion: Suggestion | None
    certain: bool  # the file holds only keys of the framework

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


def unknown_keys(file: KeyedFile, *, refused: bool) -> Iterator[UnknownKey]:
    """Unknown keys of one file that its framework refuses, or that it passes over.

    Nothing below an unknown block.
    """
    table = file.catalogue
    if table is None or not _may_hold(table, refused=refused):
        return
    opening = table.opened_by
    is_opened = bool(opening) and any(dotted(key.path) in opening for key in file.keys)
    above: list[KeyPath] = []
    for key in file.unknown:
        if above and any(key.path[: len(parent)] == parent for parent in above):
            continue
        above.append(key.path)
        policy = table.policy(key.path, file.version)
        if (policy == "reject") != refused:
            continue
        yield UnknownKey(
            file,
            key,
            table.suggest(key.path),
            certain=not is_opened and not table.is_open(key.path),
        )


def _may_hold(table: FrameworkKeys, *, refused: bool) -> bool:
    """Whether the framework treats any unknown key in this way."""
    policies = (table.default_policy, *(row.policy for row in table.policies))
    return any((policy == "reject") == refused for policy in policies)
