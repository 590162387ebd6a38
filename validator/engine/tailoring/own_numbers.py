"""Reads a file of own numbers, and puts these in place of the edition's.

    schema: speccheck-tailoring/1
    tailoring:
      - clause: COMM-001
        number: min_nodes
        value: 16
        unit: nodes
        reason: why this cluster needs another number
        owner: who answers for it
        expires: 2027-01-31

An own number counts whatever the profile, the node count or the precision. It says of
itself why, whose and until when it is, or the file is refused.
"""

import re
from collections.abc import Iterable, Mapping

from speccheck.validator.editions.edition import (
    Clause,
    Edition,
    Number,
    NumberValue,
    OwnNumber,
    number_text,
)
from speccheck.validator.engine.dates import days_left, today
from speccheck.validator.engine.policy import TailoringFault
from speccheck.validator.engine.waiver_text import date_fault, kept
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
    """The edition with the own numbers of a file; raises TailoringFault."""
    now = today()
    found = _entries(edition, path)
    in_force: list[OwnNumber] = []
    lapsed: list[OwnNumber] = []
    for one in found:
        left = days_left(one.expires, now)
        (lapsed if left is not None and left < 0 else in_force).append(one)
    clauses = dict(edition.clauses)
    for one in in_force:
        clauses[one.clause] = _with_own(clauses[one.clause], one)
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
            one
            for one in (number.value, *number.by_profile.values())
            if one is not None
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
        return tuple(kept(one) if isinstance(one, str) else one for one in items)

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


def _is_item(one: object) -> bool:
    if isinstance(one, str):
        return 0 < len(one.strip()) <= LONGEST_TEXT
    return isinstance(one, int | float) and not isinstance(one, bool)


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)


def _meant(name: str, known: Iterable[str]) -> str:
    close = nearest(name[:80], [*known])
    return f": did you mean {close}?" if close else ""


def _is_counted(number: Number) -> bool:
    """Whether a part of one makes no sense: nodes, links, bytes."""
    unit = number.unit
    values = (number.value, *number.by_profile.values())
    if unit.name in _MEASURED or any(isinstance(one, float) for one in values):
        return False
    return bool(unit.singular) or unit.name in _COUNTED


def _shown(number: Number, value: float) -> str:
    whole = int(value) if value % 1 == 0 else value
    return number_text(number, whole)
