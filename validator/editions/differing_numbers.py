"""Numbers that differ between two editions of a clause, and which way they went."""

import re
from collections.abc import Collection, Iterator

from speccheck.validator.editions.difference import Difference, NumberChange, Weight
from speccheck.validator.editions.edition import Clause
from speccheck.validator.editions.number import Number, NumberValue, number_text

# After one of these words a number tells when a requirement holds, or what is not
# asked: which way it became stricter cannot be read off the sentence.
_OPAQUE = re.compile(
    r"\b(not|no|nor|neither|never|without|unless|where|when|while|if|until|from|fewer|"
    r"other|except|times)\b"
)
_MODAL = re.compile(r"\b(must|should|may)\b")


def direction(clause: Clause, name: str) -> str:
    """`upper` for a number that must not be exceeded, `lower` for a floor, else empty.

    Only what the requirement says plainly counts: `must be at most {x}`, `should be at
    least {x}`. A number before the modal verb narrows what the clause is about.
    """
    before, found, _ = clause.requirement.partition(f"{{{name}}}")
    modal = _MODAL.search(before)
    if not found or modal is None:
        return ""
    between = before[modal.end() :]
    bound = re.search(r"\b(?:(at most)|(at least))\s*$", between)
    if bound is None or _OPAQUE.search(between):
        return ""
    return "upper" if bound[1] else "lower"


def number_differences(
    before: Clause, after: Clause, known_profiles: Collection[str]
) -> Iterator[Difference]:
    """What differs in the numbers of a clause.

    Args:
        before: the clause in the older edition.
        after: the clause in the newer one.
        known_profiles: of the older edition: a value for a use that is new changes
            nothing.

    """
    for name in before.numbers:
        if name not in after.numbers:
            text = f"number {name} is gone"
            reason = "what compared with it decides otherwise"
            yield Difference("number", after.id, text, "MAJOR", reason)
    for name, number in after.numbers.items():
        old = before.numbers.get(name)
        if old is None:
            text = f"new number {name}"
            reason = "what compares with it may fail what passed"
            yield Difference("number", after.id, text, "MAJOR", reason)
        else:
            yield from _number(
                after, old, number, direction(after, name), known_profiles
            )


def _number(
    clause: Clause, old: Number, new: Number, way: str, known_profiles: Collection[str]
) -> Iterator[Difference]:
    if old.unit.name != new.unit.name:
        text = f"{new.name}: unit {old.unit.name} -> {new.unit.name}"
        reason = "another quantity is compared"
        yield Difference("number", clause.id, text, "MAJOR", reason)
        return
    keys = dict.fromkeys(("", *old.by_profile, *new.by_profile))
    for key in keys:
        one, two = _under(old, key), _under(new, key)
        if one == two:
            continue
        weight, reason = _weight(one, two, way)
        if key.startswith("use/") and key not in known_profiles:
            weight, reason = "MINOR", f"nobody was judged for {key}"
        elif key.startswith("nodes/") and (one is None or two is None):
            weight, reason = "MAJOR", "between the entries of a table values move"
        where = f" in {key}" if key else ""
        text = (
            f"{new.name}{where}: {_told(old, one)} -> {_told(new, two)}"
            f" ({new.confidence}: {new.source})"
        )
        change = NumberChange(
            new.name, key, one, two, new.unit.name, way, new.source, new.confidence
        )
        yield Difference("number", clause.id, text, weight, reason, change)
    for field in ("source", "confidence", "note"):
        if getattr(old, field) != getattr(new, field):
            text = f"{new.name}: another {field}"
            reason = "the number is the same"
            yield Difference("wording", clause.id, text, "PATCH", reason)


def _under(number: Number, key: str) -> NumberValue | None:
    """The value under a key; of a table over nodes only what stands in it."""
    if not key:
        return number.value
    default = None if key.startswith("nodes/") else number.value
    return number.by_profile.get(key, default)


def _weight(
    before: NumberValue | None, after: NumberValue | None, way: str
) -> tuple[Weight, str]:
    if before is None:
        return "MINOR", "there was none here, so nothing passed by it"
    if after is None:
        return "MAJOR", "what passed by it is no longer known"
    if not way or not _are_amounts(before, after):
        return "MAJOR", "it may fail what passed: which way is stricter is not plain"
    if (after > before) == (way == "upper"):  # type: ignore[operator] # both amounts
        return "MINOR", "less is asked than before"
    return "MAJOR", "more is asked than before"


def _are_amounts(*values: NumberValue) -> bool:
    return all(isinstance(one, int | float) for one in values)


def _told(number: Number, value: NumberValue | None) -> str:
    return "none" if value is None else number_text(number, value)
