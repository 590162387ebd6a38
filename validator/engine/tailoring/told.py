"""What reports and certificates say of own numbers: which, whose, why, until when."""

from collections.abc import Iterable, Iterator, Mapping

from speccheck.validator.editions.edition import (
    Edition,
    NumberValue,
    OwnNumber,
    number_text,
)

Scalar = str | int | float | bool
_MOST_LINES = 10


def headline(edition: Edition) -> str:
    """`2 numbers are tailored`; empty where all are the edition's."""
    count = len(edition.tailoring)
    if not count:
        return ""
    return "1 number is tailored" if count == 1 else f"{count:,} numbers are tailored"


def own_number_text(one: OwnNumber) -> str:
    """`COMM-001 min_nodes: 16 nodes instead of 8 nodes: why (who, until when)`."""
    value = number_text(one.released, one.value)
    return (
        f"{one.clause} {one.number}: {value} instead of {_released_text(one)}: "
        f"{one.reason} ({one.owner}, until {one.expires})"
    )


def _released_text(one: OwnNumber) -> str:
    number = one.released
    if number.value is None:
        return "what the profile gives"
    text = number_text(number, number.value)
    return f"{text}, or what the profile gives" if number.by_profile else text


def tailored_lines(edition: Edition, *, full: bool = True) -> Iterator[str]:
    """A line for each own number; beyond a screen, how many more."""
    shown = edition.tailoring if full else edition.tailoring[:_MOST_LINES]
    yield from (f"tailored {own_number_text(one)}" for one in shown)
    rest = len(edition.tailoring) - len(shown)
    if rest:
        yield f"{rest:,} more tailored numbers (--full)"


def lapsed_text(one: OwnNumber) -> str:
    """That an own number has no effect any more, and since when."""
    span = one.place.span
    at = f"{one.place.file}:{span.line}:{span.column}" if span else one.place.file
    return (
        f"{at}: {one.clause} {one.number}: expired on {one.expires} (UTC) and has no "
        f"effect: the edition's own number counts; renew or delete the entry"
    )


def tailoring_data(edition: Edition) -> list[dict[str, Scalar | None]]:
    """Own numbers as reports of programs and certificates list them."""
    return [
        {
            "clause": one.clause,
            "number": one.number,
            "edition_value": _scalar(one.released.value),
            "own_value": _scalar(one.value),
            "unit": one.released.unit.name,
            "reason": one.reason,
            "owner": one.owner,
            "expires": one.expires,
        }
        for one in edition.tailoring
    ]


def _scalar(value: NumberValue | None) -> Scalar | None:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def tailored(edition: Edition) -> list[dict[str, Scalar | None]]:
    """The own numbers in force, as `speccheck-certificate/1` lists them."""
    return [
        {name: value for name, value in row.items() if name != "unit"}
        for row in tailoring_data(edition)
    ]


def values_text(names: Iterable[str], numbers: Mapping[str, OwnNumber]) -> str:
    """`min_nodes 16 nodes instead of 8 nodes`, for the note of a finding."""
    return ", ".join(
        f"{name} {number_text(numbers[name].released, numbers[name].value)} instead of "
        f"{_released_text(numbers[name])}"
        for name in names
    )
