"""Own numbers in reports and certificates, and beside the edition's in findings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.editions.edition import Edition
from speccheck.validator.editions.number import NumberValue, OwnNumber, number_text
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.rule import Verdict

if TYPE_CHECKING:
    from speccheck.validator.engine.judge import BoundRule

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


def beside_edition(
    bound: "BoundRule", said: Sequence[Finding], number: int
) -> list[Finding]:
    """Return what a rule says by own numbers, with what it would say by the edition's.

    What the edition's own numbers would fail and own ones do not is marked: nobody is
    to take it for conformance. What fails by own numbers alone says so as well.

    Args:
        bound: the rule, which reads own numbers.
        said: by these, of one part or of all at once.
        number: of the part.

    """
    own = bound.of.own_numbers
    values = values_text(bound.of.tailored(bound.rule), own)
    if bound.by_edition is None or isinstance(bound.by_edition, list):
        text = "the edition has no number here"
        return [_noted(finding, values, text) for finding in said]
    by_edition = bound.by_edition.judge_piece(number)
    found = list(said)
    if not any(finding.outcome == "error" for finding in by_edition):
        # A rule that breaks on an own number alone is no bug of the rule.
        found = [
            finding._replace(
                outcome="unknown",
                message=f"cannot be judged by {values}: {finding.message}",
            )
            if finding.outcome == "error"
            else finding
            for finding in said
        ]
    failed = {finding.places for finding in found if finding.outcome == "fail"}
    strict = {finding.places for finding in by_edition if finding.outcome == "fail"}
    text = "by the edition's own number it does not fail"
    found = [
        _noted(finding, values, text)
        if finding.outcome == "fail" and finding.places not in strict
        else finding
        for finding in found
    ]
    for finding in by_edition:
        if finding.outcome == "fail" and finding.places not in failed:
            _mark_loosened(bound, found, finding, values)
    return found


def _mark_loosened(
    bound: "BoundRule", found: list[Finding], lost: Finding, values: str
) -> None:
    """Mark what is said of a place instead of a failure; or say so besides."""
    from speccheck.validator.engine.judge import finding_of  # noqa: PLC0415 - a cycle

    text = f"loosened: by the edition's own number it fails: {lost.message}"
    unmarked = [
        index
        for index, finding in enumerate(found)
        if finding.outcome not in {"fail", "error"} and not finding.is_loosened
    ]
    same = [index for index in unmarked if found[index].places == lost.places]
    if not unmarked:
        silent = Verdict("not_applicable", "by an own number it does not apply")
        other = finding_of(bound.of.judged, bound.rule, silent)
        found.append(other._replace(subject=lost.subject))
        unmarked = [len(found) - 1]
    at = (same or unmarked)[0]
    found[at] = _noted(found[at], values, text)._replace(is_loosened=True)


def _noted(finding: Finding, values: str, text: str) -> Finding:
    note = f"tailored, {values}; {text}"
    return finding._replace(note=f"{finding.note}; {note}" if finding.note else note)
