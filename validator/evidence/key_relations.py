"""The language of key relations: what the keys of one framework do together.

Rows of schemas/catalogues/relations/, whose README describes them. A condition is a
tree of tests with three answers: it holds, it does not, or it is open. Nothing of it
is executed: a test is the name of a function here, and its operand.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from speccheck.validator.evidence.key_forms import FORMS
from speccheck.validator.evidence.record import Record

Kind = Literal["refused", "warned", "overridden", "deprecated", "removed"]
Answer = bool | None
Operand = Any  # of JSON: numbers, texts, names; the compiler looks at each
# ["all", c, ...], ["any", c, ...], ["not", c], or [name, test, operand]
Condition = Sequence[Any]

PRODUCT = " * "  # between the names of numbers that are multiplied
PLAN = "plan."  # begins the name of a field of the plan
ITEMS = "[]"
_SIGN = re.compile(r" ([+-]) ")
_MEASURED = re.compile(r"([a-z_]+) of (all )?(\S+)")


class Multiplicand(Record):
    """A number that is multiplied: of a key, of a field, or itself.

    Attributes:
        name: of the key or field, or the digits of a whole number.
        measure: what is counted of its value (key_forms.MEASURES); empty for itself.
        takes_items: the values of all items of a list are measured together.
    """

    name: str
    measure: str = ""
    takes_items: bool = False

    @property
    def is_literal(self) -> bool:
        """Whether it is a whole number that the relation itself states."""
        return self.name.isdecimal()


class Term(Record):
    """A product of a sum, and the sign before it."""

    sign: Literal["+", "-"]
    factors: tuple[Multiplicand, ...]


@cache
def terms_of(text: str) -> tuple[Term, ...]:
    """Return what `a * 2 - length of b` adds and takes away."""
    first, *rest = _SIGN.split(text)
    signed = [("+", first), *zip(rest[::2], rest[1::2], strict=True)]
    return tuple(
        Term(
            "-" if sign == "-" else "+",
            tuple(_factor(part) for part in product.split(PRODUCT)),
        )
        for sign, product in signed
    )


def _factor(text: str) -> Multiplicand:
    measured = _MEASURED.fullmatch(text)
    if measured is None:
        return Multiplicand(text)
    return Multiplicand(measured[3], measured[1], bool(measured[2]))


def factors_of(text: str) -> list[Multiplicand]:
    """Return all numbers that a sum of products is made of."""
    return [factor for term in terms_of(text) for factor in term.factors]


def names_in(text: str) -> list[str]:
    """Return the names of the keys and fields that a sum of products is made of."""
    return [factor.name for factor in factors_of(text) if not factor.is_literal]


class KeyRelation(Record):
    """One row.

    Attributes:
        id: permanent name.
        kind: what the framework does where the condition holds.
        when: the condition.
        needs: what must hold beside it; empty where the condition itself is the fault.
        names: all keys and fields that it speaks of.
        reason: why, in words that complete "A x with B y: ...".
        remedy: what to change.
        triggers: groups of names; of each a file must state one for it to hold.
        within: the list or free block whose items it is about, one after another.
        loses: keys that have no effect.
        fix: values by key; None deletes one, {multiple_of: name} is the next multiple.
        since: first release that does so; until: first one that no longer does.
    """

    id: str
    kind: Kind
    when: Condition
    names: Sequence[str]
    reason: str
    remedy: str
    triggers: Sequence[Sequence[str]]
    within: str = ""
    needs: Condition = ()
    loses: Sequence[str] = ()
    fix: Mapping[str, Any] = {}
    since: str = ""
    until: str = ""


class KeyRelations:
    """The rows of one table, by the names of which one must be stated."""

    __slots__ = ("_by_name", "_made", "_rows")

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Order the rows as they are compiled; a record is made of the few in use."""
        self._rows = rows
        self._made: dict[int, KeyRelation] = {}
        self._by_name: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            for name in row["triggers"][0]:
                self._by_name.setdefault(name, []).append(number)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._rows)

    def all(self) -> Iterator[KeyRelation]:
        """Yield every row, in the order of the table."""
        return map(self._row, range(len(self._rows)))

    def about(self, names: Collection[str]) -> Iterator[KeyRelation]:
        """Yield the rows that may hold of these, in the order of the table."""
        numbers = {number for name in names for number in self._by_name.get(name, ())}
        for number in sorted(numbers):
            groups = self._rows[number]["triggers"]
            if all(any(name in names for name in group) for group in groups):
                yield self._row(number)

    def _row(self, number: int) -> KeyRelation:
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = KeyRelation(**self._rows[number])
        return made


def _is_multiple(number: float, of: float) -> Answer:
    """Return None for what is no whole number above zero: other rules tell it."""
    if of <= 0 or number != int(number) or of != int(of):
        return None
    return int(number) % int(of) == 0


OF_NUMBERS: Mapping[str, Callable[[float, float], Answer]] = {
    "above": lambda number, other: number > other,
    "at_least": lambda number, other: number >= other,
    "below": lambda number, other: number < other,
    "at_most": lambda number, other: number <= other,
    "equals": lambda number, other: number == other,
    "multiple_of": _is_multiple,
}


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list | dict) else [value]
    return [str(item).strip() for item in items]


def _contains(value: object, wanted: Sequence[object]) -> bool:
    texts = _texts(value)
    if isinstance(value, str):
        return any(str(item) in value for item in wanted)
    if isinstance(value, dict):
        return any(item in value for item in wanted)
    return any(str(item) in texts for item in wanted)


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | list | dict) else 1


def _is_a(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    names = {
        "text": str,
        "integer": int,
        "number": (int, float),
        "list": list,
        "block": dict,
        "boolean": bool,
    }
    return isinstance(value, names[kind])  # type: ignore[arg-type]


OF_VALUES: Mapping[str, Callable[[Any, Any], Answer]] = {
    "word": lambda value, words: (
        str(value).strip().lower() in [word.lower() for word in words]
    ),
    "not_word": lambda value, words: (
        str(value).strip().lower() not in [word.lower() for word in words]
    ),
    "begins": lambda value, starts: str(value).startswith(tuple(starts)),
    "ends": lambda value, ends: str(value).endswith(tuple(ends)),
    "contains": _contains,
    "lacks": lambda value, items: not _contains(value, items),
    "every_in": lambda value, items: {*_texts(value)} <= {str(item) for item in items},
    "is_a": _is_a,
    "is_not_a": lambda value, kind: not _is_a(value, kind),
    "form": lambda value, form: FORMS[form](str(value)),
    "malformed": lambda value, form: not FORMS[form](str(value)),
    "matches": lambda value, pattern: re.search(pattern, str(value)) is not None,
    "length_above": lambda value, most: _length(value) > most,
    "length_below": lambda value, least: _length(value) < least,
}
# Of a name with `[]` or `*`: of all that the files state, not of each by itself.
OF_ALL_ITEMS: Mapping[str, Callable[[list[object] | None, Any], Answer]] = {
    "distinct": lambda values, wanted: (
        None if values is None else (len({*_texts(values)}) == len(values)) is wanted
    ),
    "count_above": lambda values, most: None if values is None else len(values) > most,
    "count_below": lambda values, least: (
        None if values is None else len(values) < least
    ),
    "some_in": lambda values, items: (
        None
        if values is None
        else any(text in {str(item) for item in items} for text in _texts(values))
    ),
}
# Of one value and all values that the files state of another name.
OF_POOLS: Mapping[str, Callable[[object, Collection[str]], bool]] = {
    "among": lambda value, pool: {*_texts(value)} <= {*pool},
    "not_among": lambda value, pool: not {*_texts(value)} <= {*pool},
}
# Of all values that the files state of a name, whichever item is looked at.
OF_WHOLE_LISTS: Mapping[str, Callable[[Collection[str], Collection[str]], bool]] = {
    "anywhere": lambda pool, items: any(str(item) in pool for item in items),
    "nowhere": lambda pool, items: not any(str(item) in pool for item in items),
}
TESTS = frozenset(
    {
        *("is", "is_not", "same_as", "differs_from"),
        *("stated", "set", "given"),
        *OF_NUMBERS,
        *OF_VALUES,
        *OF_ALL_ITEMS,
        *OF_POOLS,
        *OF_WHOLE_LISTS,
    }
)
NUMBER_TESTS = frozenset(OF_NUMBERS)
ITEM_TESTS = frozenset(OF_ALL_ITEMS)
NAME_TESTS = frozenset({"same_as", "differs_from"})
POOL_TESTS = frozenset(OF_POOLS)
WHOLE_LIST_TESTS = frozenset(OF_WHOLE_LISTS)
