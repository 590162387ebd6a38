"""Whether two snapshots are of one machine, as far as they tell.

Serials and UUIDs are digests, salted anew for each snapshot unless somebody gave the
salt. Of two digests that are not equal nothing follows, but where some other pair is
equal: then the salt is the same, and they name two specimens.
"""

import re
from collections.abc import Iterator
from typing import Literal

from speccheck.validator.comparison.side import Content, Side
from speccheck.validator.evidence.node.node import SPECIMENS
from speccheck.validator.evidence.record import Record

Answer = Literal["one", "two", "not_known"]
_DIGEST = "hashed:"
_UNSET = re.compile(r"[0:.\-]*")
_GIVE_ONE_SALT = "take both with one --salt, or say --one-machine"


class Machine(Record):
    """The answer and on what it rests. has_one_salt: digests can be compared."""

    answer: Answer
    reason: str
    has_one_salt: bool


def machine_of(a: Side, b: Side, *, is_told: bool = False) -> Machine:
    """Whether both are of one machine. is_told: the user says so."""
    has_one_salt = bool(_digests(a.content) & _digests(b.content))
    if is_told:
        return Machine("one", "as --one-machine says", has_one_salt)
    found = (
        _by_gpus(a, b, has_one_salt=has_one_salt)
        or _by_name(a, b, has_one_salt=has_one_salt)
        or _by_launch(a, b)
        or ("not_known", _unknown(a, b))
    )
    return Machine(*found, has_one_salt)


def _by_gpus(a: Side, b: Side, *, has_one_salt: bool) -> tuple[Answer, str] | None:
    pair = _pair(a, b, "gpus", "uuid", has_one_salt=has_one_salt)
    if pair is None:
        return None
    both = len(pair[0] & pair[1])
    if not both:
        return "two", "no GPU is in both"
    return "one", f"{both} of its GPUs {'is' if both == 1 else 'are'} in both"


def _by_name(a: Side, b: Side, *, has_one_salt: bool) -> tuple[Answer, str] | None:
    pair = _pair(a, b, "host", "name", has_one_salt=has_one_salt)
    if pair is None:
        return None
    if pair[0] == pair[1]:
        return "one", "it has one name in both"
    return "two", "they have different names"


def _by_launch(a: Side, b: Side) -> tuple[Answer, str] | None:
    names = _launched(a.content), _launched(b.content)
    if not all(names):
        return None
    if names[0] == names[1]:
        return "one", "the engine has one name for it"
    return "two", "the engine has different names for them"


def is_comparable(one: str, other: str, *, has_one_salt: bool) -> bool:
    """Whether it follows from two specimens being unequal that they are two."""
    if is_digest(one) and is_digest(other):
        return has_one_salt
    if is_digest(one) or is_digest(other):
        # What is not set never becomes a digest.
        return bool(_UNSET.fullmatch(one) or _UNSET.fullmatch(other))
    return True


def is_digest(text: str) -> bool:
    """Whether it stands for a serial number, a UUID, an address or a name."""
    return text.startswith(_DIGEST)


def _unknown(a: Side, b: Side) -> str:
    if _digests(a.content) and _digests(b.content):
        return f"no digest of one stands in the other: another salt; {_GIVE_ONE_SALT}"
    return f"nothing that names a specimen is in both; {_GIVE_ONE_SALT}"


def _launched(content: Content) -> str:
    launch = content.get("launch")
    node = launch.get("node") if isinstance(launch, dict) else None
    return node if isinstance(node, str) else ""


def _pair(
    a: Side, b: Side, kind: str, leaf: str, *, has_one_salt: bool
) -> tuple[set[str], set[str]] | None:
    """What both have of a specimen's leaf, where the two can be compared."""
    mine, other = (
        {one for one in _texts(side.content, kind, leaf) if not _UNSET.fullmatch(one)}
        for side in (a, b)
    )
    if not mine or not other:
        return None
    forms = {is_digest(one) for one in (*mine, *other)}
    if forms == {False} or (forms == {True} and has_one_salt):
        return mine, other
    return None


def _digests(content: Content) -> set[str]:
    return {
        text
        for name in SPECIMENS
        for text in _texts(content, *name.split("."))
        if is_digest(text)
    }


def _texts(content: Content, kind: str, leaf: str) -> Iterator[str]:
    found = content.get(kind)
    for part in found if isinstance(found, list) else [found]:
        value = part.get(leaf) if isinstance(part, dict) else None
        if isinstance(value, str):
            yield value
