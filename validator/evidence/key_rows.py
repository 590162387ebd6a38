"""What a key table says of one key, of a section, and of keys together."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from speccheck.validator.evidence.record import Record

UnknownKeyPolicy = Literal["reject", "ignore", "warn"]
KeyValue: TypeAlias = (
    "bool | int | float | str | Sequence[KeyValue] | Mapping[str, KeyValue] | None"
)


class KeyRow(Record):
    """One tabulated key.

    defaults: (tabulated version from which it holds, value), oldest first; a pair
    without value where the framework computes it; empty where it is not known.
    """

    path: str
    type: str = "any"
    choices: Sequence[KeyValue] = ()
    range: str = ""
    since: str = ""
    removed_in: str = ""
    deprecated: bool = False
    deprecated_by: Sequence[str] = ()
    aliases: Sequence[str] = ()
    required: bool = False
    defaults: Sequence[Sequence[KeyValue]] = ()
    defaults_by_group: Mapping[str, KeyValue] | None = None


class Policy(Record):
    """What happens to an unknown key below `section`, in `versions` or in all."""

    section: str
    policy: UnknownKeyPolicy
    versions: str = ""


class ExclusiveKeys(Record):
    """Keys of which only one may be set: not null, not false, a number above `above`.

    `refused` with an error, `warned`, or silently `overridden` by one of them; keys
    that `must_agree` may both be set.
    """

    keys: tuple[str, ...]
    effect: Literal["refused", "warned", "overridden", "must_agree"] = "refused"
    above: int = 0
    note: str = ""


class KnownDefault(Record):
    """A default that the table knows; the value may be None (null)."""

    value: KeyValue
