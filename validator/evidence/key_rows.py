"""What a key table says of one key, of a section, and of keys together."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from speccheck.validator.evidence.framework_version import (
    FrameworkVersion,
    is_in_range,
)
from speccheck.validator.evidence.record import Record

UnknownKeyPolicy = Literal["reject", "ignore", "warn"]
KeyValue: TypeAlias = (
    "bool | int | float | str | Sequence[KeyValue] | Mapping[str, KeyValue] | None"
)
MILDEST_FIRST: tuple[UnknownKeyPolicy, ...] = ("ignore", "warn", "reject")


class KeyRow(Record):
    """One tabulated key.

    renamed: what takes its place is the same key under another name.
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
    renamed: bool = False
    aliases: Sequence[str] = ()
    required: bool = False
    defaults: Sequence[Sequence[KeyValue]] = ()
    defaults_by_group: Mapping[str, KeyValue] | None = None


class Policy(Record):
    """What happens to an unknown key below `section`, in `versions` or in all."""

    section: str
    policy: UnknownKeyPolicy
    versions: str = ""


def policy_at(
    rows: Sequence[Policy], version: FrameworkVersion | None
) -> UnknownKeyPolicy:
    """The policy of a section in `version`; the mildest of those it may be."""
    fit = [(row, is_in_range(version, row.versions)) for row in rows if row.versions]
    for row, inside in fit:
        if inside:
            return row.policy
    possible = {row.policy for row, inside in fit if inside is None}
    possible |= {row.policy for row in rows if not row.versions}
    possible = possible or {row.policy for row in rows}
    return next(policy for policy in MILDEST_FIRST if policy in possible)


class ExclusiveKeys(Record):
    """Keys of which only one may be set: not null, not false, a number above `above`.

    `refused` with an error, `warned`, or silently `overridden` by one of them; keys
    that `must_agree` may both be set. loses: the one that has no effect beside the
    other, where that is always the same one.
    """

    keys: tuple[str, ...]
    effect: Literal["refused", "warned", "overridden", "must_agree"] = "refused"
    above: int = 0
    note: str = ""
    loses: str = ""


class KeyTest(Record):
    """What is asked of one key: that it is set, or off, or that its value lies within.

    one_of: its values; at_least, at_most, below: bounds of a number. Without any of
    them `is_set` alone counts. is_stated: a default is not enough.
    """

    key: str
    is_set: bool = True
    is_stated: bool = False
    one_of: tuple[KeyValue, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None


class Demand(Record):
    """Where all of `when` hold, one of `needs` must, else the framework refuses.

    since: the first release that asks for it; empty: each that has the keys.
    """

    when: tuple[KeyTest, ...]
    needs: tuple[KeyTest, ...]
    since: str = ""
    note: str = ""


class MultipleOf(Record):
    """A number that must be a multiple of another one."""

    key: str
    of: str


class KnownDefault(Record):
    """A default that the table knows; the value may be None (null)."""

    value: KeyValue
