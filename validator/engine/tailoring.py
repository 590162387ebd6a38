"""Own numbers in reports and certificates, and beside the edition's in findings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.editions.edition import (
    Clause,
    Edition,
    Number,
    NumberValue,
    OwnNumber,
    number_text,
)
from speccheck.validator.engine.request import TailoringFault
from speccheck.validator.engine.waiver_text import date_fault, days_left, kept, today
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.evidence.value import KeyPath, Place, dotted
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text

SCHEMA = "speccheck-tailoring/1"
MOST_CHARACTERS = 1_000_000
MOST_ENTRIES = 500
MOST_ITEMS = 200
LONGEST_TEXT = 200
FIELDS = ("clause", "number", "value", "unit", "reason", "owner", "expires")
_TOP = ("schema", "tailoring")
_OF_A_FIELD = 3  # tailoring, index, field
# Units that are counted although they have no word for one of them.
_COUNTED = frozenset({"count", "B", "setting", "exponent of two"})
_MEASURED = frozenset({"degrees", "watts"})
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,5}")
_MASK = re.compile(r"[01]{8}")


def tailored_by(edition: Edition, path: str) -> Edition:
    """Return the edition with the own numbers of a file; raises TailoringFault."""
    now = today()
    own_numbers = _entries(edition, path)
    in_force: list[OwnNumber] = []
    lapsed: list[OwnNumber] = []
    for own_number in own_numbers:
        left = days_left(own_number.expires, now)
        (lapsed if left is not None and left < 0 else in_force).append(own_number)
    clauses = dict(edition.clauses)
    for own_number in in_force:
        clauses[own_number.clause] = _with_own(clauses[own_number.clause], own_number)
    return edition._replace(
        clauses=clauses, tailoring=tuple(in_force), lapsed=tuple(lapsed)
    )


def _with_own(clause: Clause, own: OwnNumber) -> Clause:
    released = own.released
    number = released._replace(value=own.value, by_profile={}, released=released)
    return clause._replace(numbers={**clause.numbers, own.number: number})


def _entries(edition: Edition, path: str) -> list[OwnNumber]:
    try:
        text = read_text(path)
        if len(text) > MOST_CHARACTERS:
            message = (
                f"{path}: {len(text):,} characters; a file of own numbers may have "
                f"{MOST_CHARACTERS:,}"
            )
            raise TailoringFault(_printable(message))
        is_json = path.lower().endswith(".json")
        documents = load_documents(path, text, "json" if is_json else "yaml")
    except ReadError as error:
        raise TailoringFault(str(error)) from error
    return _File(path, documents[0], edition).entries()


class _File:
    """One file of own numbers that is being read."""

    def __init__(self, path: str, document: Document, edition: Edition) -> None:
        self._path = path
        self._document = document
        self._edition = edition
        self._seen: dict[tuple[str, str], int] = {}

    def entries(self) -> list[OwnNumber]:
        data = self._document.data
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            message = f"no file of own numbers: write schema: {SCHEMA} at its top"
            raise self._fault((), message)
        self._demand_known(data, (), _TOP)
        rows = data.get("tailoring")
        if not isinstance(rows, list) or len(rows) > MOST_ENTRIES:
            message = f"must be a list of at most {MOST_ENTRIES:,} entries"
            raise self._fault(("tailoring",), message)
        return [
            self._entry(row, ("tailoring", index)) for index, row in enumerate(rows)
        ]

    def _entry(self, row: object, at: KeyPath) -> OwnNumber:
        if not isinstance(row, dict):
            message = f"an entry must be a mapping with {', '.join(FIELDS)}"
            raise self._fault(at, message)
        self._demand_known(row, at, FIELDS)
        clause = self._clause(row, at)
        number = self._number(row, at, clause)
        value = self._value(row, at, number)
        self._demand_unit(row, at, number)
        return OwnNumber(
            clause.id,
            number.name,
            value,
            number,
            self._text(row, at, "reason"),
            self._text(row, at, "owner"),
            self._expires(row, at),
            Place(self._path, dotted(at), at, span=self._document.span(at)),
        )

    def _clause(self, row: Mapping[object, object], at: KeyPath) -> Clause:
        name = self._text(row, at, "clause").upper()
        edition = self._edition
        clause = edition.clauses.get(name)
        tombstone = getattr(edition, "withdrawn", {}).get(name)
        if tombstone is not None:
            message = f"{name} is withdrawn in edition {edition.id}: delete the entry"
            raise self._fault((*at, "clause"), message)
        if clause is None:
            message = f"edition {edition.id} has no clause {name}"
            message += _meant(name, edition.clauses)
            raise self._fault((*at, "clause"), message)
        return clause

    def _number(
        self, row: Mapping[object, object], at: KeyPath, clause: Clause
    ) -> Number:
        name = self._text(row, at, "number")
        number = clause.numbers.get(name)
        if number is None:
            known = ", ".join(clause.numbers)
            hint = f": there are {known}" if known else ": it has none"
            message = f"{clause.id} has no number {name}"
            message += _meant(name, clause.numbers) or hint
            raise self._fault((*at, "number"), message)
        key = clause.id, name
        if key in self._seen:
            message = f"{clause.id} {name} stands twice, also in [{self._seen[key]}]"
            raise self._fault((*at, "number"), message)
        self._seen[key] = len(self._seen)
        return number

    def _demand_unit(
        self, row: Mapping[object, object], at: KeyPath, number: Number
    ) -> None:
        unit = self._text(row, at, "unit")
        if unit != number.unit.name:
            message = (
                f"{number.name} is in {number.unit.name}, not in {unit}: write the "
                f"value in that unit, and unit: {number.unit.name}"
            )
            raise self._fault((*at, "unit"), message)

    def _value(
        self, row: Mapping[object, object], at: KeyPath, number: Number
    ) -> NumberValue:
        path = (*at, "value")
        if "value" not in row:
            raise self._fault(at, "value is missing: the own number")
        value = row["value"]
        released = next(
            item
            for item in (number.value, *number.by_profile.values())
            if item is not None
        )
        if isinstance(released, tuple):
            return self._list(value, path)
        if isinstance(released, str):
            return self._word(value, path, number)
        return self._numeric(value, path, number)

    def _list(self, value: object, path: KeyPath) -> NumberValue:
        items = value if isinstance(value, list) else []
        if not 0 < len(items) <= MOST_ITEMS or not all(map(_is_item, items)):
            message = f"must be a list of 1 to {MOST_ITEMS} texts or numbers"
            raise self._fault(path, message)
        return tuple(kept(item) if isinstance(item, str) else item for item in items)

    def _word(self, value: object, path: KeyPath, number: Number) -> NumberValue:
        if not isinstance(value, str) or not 0 < len(value.strip()) <= LONGEST_TEXT:
            shown = number_text(number, number.value)
            message = f'must be a text in quotes, as the edition has "{shown}"'
            raise self._fault(path, message)
        word = kept(value)
        unit = number.unit.name
        if unit == "version" and not _VERSION.fullmatch(word):
            raise self._fault(path, f"{word} is no release such as 2.27.3")
        if unit == "priority mask" and not _MASK.fullmatch(word):
            raise self._fault(path, f"{word} is no mask of eight digits 0 and 1")
        return word

    def _numeric(self, value: object, path: KeyPath, number: Number) -> NumberValue:
        if isinstance(value, bool) or not isinstance(value, int | float):
            given = repr(value)[:40]
            message = f"{given} is no number; a power of ten needs a point: 1.0e+9"
            raise self._fault(path, message)
        if number.plausible is None:
            message = (
                f"edition {self._edition.id} was compiled without plausible ranges, so "
                f"that no own number can be held to one: compile it again"
            )
            raise self._fault(path, message)
        low, high = number.plausible
        if not low <= value <= high:  # also nan
            message = (
                f"{_shown(number, value)} is outside what is plausible for "
                f"{number.name}: {_shown(number, low)} to {_shown(number, high)}"
            )
            raise self._fault(path, message)
        if not _is_counted(number):
            return value
        if value % 1:
            message = f"{value:g} must be a whole number of {number.unit.name}"
            raise self._fault(path, message)
        return int(value)

    def _expires(self, row: Mapping[object, object], at: KeyPath) -> str:
        value = row.get("expires")
        if value is None:
            message = "expires is missing: the last day (UTC), such as 2027-01-31"
            raise self._fault(at, message)
        if date_fault(str(value)):
            message = f"{str(value)[:40]} is no date such as 2027-01-31"
            raise self._fault((*at, "expires"), message)
        return str(value)

    def _text(self, row: Mapping[object, object], at: KeyPath, field: str) -> str:
        value = row.get(field)
        if value is None:
            raise self._fault(at, f"{field} is missing")
        if not isinstance(value, str) or not value.strip():
            raise self._fault((*at, field), "must be a text that says it")
        return kept(value)

    def _demand_known(
        self, row: Mapping[object, object], at: KeyPath, fields: tuple[str, ...]
    ) -> None:
        for name in row:
            if name not in fields:
                known = f": there are {', '.join(fields)}"
                shown = str(name)[:80]
                message = f"no field {shown}{_meant(shown, fields) or known}"
                raise self._fault((*at, str(name)), message)

    def _fault(self, at: KeyPath, message: str) -> TailoringFault:
        span = self._document.span(at, part="value" if _is_field(at) else "key")
        if span is None and at:
            span = self._document.span(at[:-1], part="key")
        place = f"{self._path}:{span.line}:{span.column}" if span else self._path
        called = f"{dotted(at)}: " if at else ""
        return TailoringFault(_printable(f"{place}: {called}{message}"))


def _is_field(at: KeyPath) -> bool:
    return len(at) == _OF_A_FIELD and at[-1] in FIELDS


def _is_item(item: object) -> bool:
    if isinstance(item, str):
        return 0 < len(item.strip()) <= LONGEST_TEXT
    return isinstance(item, int | float) and not isinstance(item, bool)


def _printable(text: str) -> str:
    return "".join(item if item.isprintable() else "?" for item in text)


def _meant(name: str, known: Iterable[str]) -> str:
    close = nearest(name[:80], [*known])
    return f": did you mean {close}?" if close else ""


def _is_counted(number: Number) -> bool:
    """Return whether a part of one makes no sense: nodes, links, bytes."""
    unit = number.unit
    values = (number.value, *number.by_profile.values())
    if unit.name in _MEASURED or any(isinstance(value, float) for value in values):
        return False
    return bool(unit.singular) or unit.name in _COUNTED


def _shown(number: Number, value: float) -> str:
    whole = int(value) if value % 1 == 0 else value
    return number_text(number, whole)


Scalar = str | int | float | bool
_MOST_LINES = 10


def headline(edition: Edition) -> str:
    """Return `2 numbers are tailored`; empty where all are the edition's."""
    count = len(edition.tailoring)
    if not count:
        return ""
    return "1 number is tailored" if count == 1 else f"{count:,} numbers are tailored"


def own_number_text(own_number: OwnNumber) -> str:
    """Return a line such as `COMM-001 min_nodes: 16 nodes instead of 8 nodes`."""
    value = number_text(own_number.released, own_number.value)
    return (
        f"{own_number.clause} {own_number.number}: {value} instead of "
        f"{_released_text(own_number)}: "
        f"{own_number.reason} ({own_number.owner}, until {own_number.expires})"
    )


def _released_text(own_number: OwnNumber) -> str:
    number = own_number.released
    if number.value is None:
        return "what the profile gives"
    text = number_text(number, number.value)
    return f"{text}, or what the profile gives" if number.by_profile else text


def tailored_lines(edition: Edition, *, full: bool = True) -> Iterator[str]:
    """Yield a line for each own number; beyond a screen, how many more."""
    shown = edition.tailoring if full else edition.tailoring[:_MOST_LINES]
    yield from (f"tailored {own_number_text(own_number)}" for own_number in shown)
    rest = len(edition.tailoring) - len(shown)
    if rest:
        yield f"{rest:,} more tailored numbers (--full)"


def lapsed_text(own_number: OwnNumber) -> str:
    """Return the warning that an own number has no effect any more."""
    span = own_number.place.span
    at = (
        f"{own_number.place.file}:{span.line}:{span.column}"
        if span
        else own_number.place.file
    )
    return (
        f"{at}: {own_number.clause} {own_number.number}: expired on "
        f"{own_number.expires} (UTC) and has no "
        f"effect: the edition's own number counts; renew or delete the entry"
    )


def tailoring_data(edition: Edition) -> list[dict[str, Scalar | None]]:
    """Return own numbers as reports of programs and certificates list them."""
    return [
        {
            "clause": own_number.clause,
            "number": own_number.number,
            "edition_value": _scalar(own_number.released.value),
            "own_value": _scalar(own_number.value),
            "unit": own_number.released.unit.name,
            "reason": own_number.reason,
            "owner": own_number.owner,
            "expires": own_number.expires,
        }
        for own_number in edition.tailoring
    ]


def _scalar(value: NumberValue | None) -> Scalar | None:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def tailored(edition: Edition) -> list[dict[str, Scalar | None]]:
    """Return the own numbers in force, as `speccheck-certificate/1` lists them."""
    return [
        {name: value for name, value in row.items() if name != "unit"}
        for row in tailoring_data(edition)
    ]


def values_text(names: Iterable[str], numbers: Mapping[str, OwnNumber]) -> str:
    """Return `min_nodes 16 nodes instead of 8 nodes`, for the note of a finding."""
    return ", ".join(
        f"{name} {number_text(numbers[name].released, numbers[name].value)} instead of "
        f"{_released_text(numbers[name])}"
        for name in names
    )


def beside_edition(
    values: str,
    result: Sequence[Finding],
    by_edition: Sequence[Finding] | None,
    silent: Finding,
) -> list[Finding]:
    """Return what a rule says by own numbers, with what it would say by the edition's.

    What the edition's own numbers would fail and own ones do not is marked: nobody is
    to take it for conformance. What fails by own numbers alone says so as well.

    Args:
        values: the own numbers that the rule reads, as `values_text` has them.
        result: by these, of one part or of all at once.
        by_edition: by the edition's own numbers; None where it has none here.
        silent: what the rule says where it does not apply.

    """
    if by_edition is None:
        text = "the edition has no number here"
        return [_noted(finding, values, text) for finding in result]
    findings = list(result)
    if not any(finding.outcome == "error" for finding in by_edition):
        # A rule that breaks on an own number alone is no bug of the rule.
        findings = [
            finding._replace(
                outcome="unknown",
                message=f"cannot be judged by {values}: {finding.message}",
            )
            if finding.outcome == "error"
            else finding
            for finding in result
        ]
    failed = {finding.places for finding in findings if finding.outcome == "fail"}
    strict = {finding.places for finding in by_edition if finding.outcome == "fail"}
    text = "by the edition's own number it does not fail"
    findings = [
        _noted(finding, values, text)
        if finding.outcome == "fail" and finding.places not in strict
        else finding
        for finding in findings
    ]
    for finding in by_edition:
        if finding.outcome == "fail" and finding.places not in failed:
            _mark_loosened(findings, finding, values, silent)
    return findings


def _mark_loosened(
    findings: list[Finding], lost: Finding, values: str, silent: Finding
) -> None:
    """Mark what is said of a place instead of a failure; or say so besides."""
    text = f"loosened: by the edition's own number it fails: {lost.message}"
    unmarked = [
        index
        for index, finding in enumerate(findings)
        if finding.outcome not in {"fail", "error"} and not finding.is_loosened
    ]
    same = [index for index in unmarked if findings[index].places == lost.places]
    if not unmarked:
        message = "by an own number it does not apply"
        findings.append(silent._replace(message=message, subject=lost.subject))
        unmarked = [len(findings) - 1]
    at = (same or unmarked)[0]
    findings[at] = _noted(findings[at], values, text)._replace(is_loosened=True)


def _noted(finding: Finding, values: str, text: str) -> Finding:
    note = f"tailored, {values}; {text}"
    return finding._replace(note=f"{finding.note}; {note}" if finding.note else note)
