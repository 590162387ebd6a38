"""Which key of a format states which field of the plan: tables, and what applies them.

A table mirrors the nesting of the file: a key leads to a field and a conversion, or to
the table of the section below it. Conversions give the value of the field, or
`Unusable` with the reason for a text that cannot be worked out.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TypeAlias, cast

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.evidence.framework_keys import FrameworkKeys, FrameworkVersion
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import LoadedAs, StatedKey
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.reader import Fact, FactSheet


class Unusable(Record):
    """A text that is there but cannot be worked out; `reason` is for the reader.

    Attributes:
        reason: what stands there.
        is_invalid: no framework can take it for a value of the field. Other texts are
            filled in by another tool, or mean what only the run shows.
    """

    reason: str
    is_invalid: bool = False


Convert = Callable[[object], object]

_PLACEHOLDER = lazy_pattern(r"\$\{|\$\(|\{\{|^\?\?\?$|^<[^<>]*>$")
_MOST_DIGITS = 20  # of 64 bits
_NUMBER = lazy_pattern(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d+)([eE][+-]?\d+)?$")
_LARGEST = 1e300  # leaves room to scale by units
TRUE_TEXTS = frozenset({"true", "yes", "on", "1"})
FALSE_TEXTS = frozenset({"false", "no", "off", "0"})


def placeholder(value: object) -> Unusable | None:
    """Return why a text stands for a value that another tool fills in; else None."""
    if not isinstance(value, str):
        return None
    if value == "auto":
        return Unusable("auto: filled in at start by the framework above")
    if _PLACEHOLDER.search(value):
        return Unusable(f"placeholder {value[:60]}")
    return None


def integer(value: object) -> object:
    """Return a whole number; a number in quotes is not one."""
    if isinstance(value, bool):
        return Unusable(f"{value} is not a whole number", is_invalid=True)
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return placeholder(value) or _invalid(value, "is not a whole number")


def integer_text(value: object) -> object:
    """Return a whole number, written as text too: flags, and loaders that coerce."""
    if isinstance(value, str) and (number := parse_number(value)) is not None:
        value = number
    return integer(value)


def number(value: object) -> object:
    """Return a finite number.

    Texts such as `2e-5` count, since their loader coerces them.
    """
    if isinstance(value, bool):
        return Unusable(f"{value} is not a number", is_invalid=True)
    if isinstance(value, str):
        parsed = parse_number(value)
        if parsed is None:
            return placeholder(value) or _invalid(value, "is not a number")
        value = parsed
    if not isinstance(value, int | float):
        return _invalid(value, "is not a number")
    if not -_LARGEST < value < _LARGEST:  # also what is not a number at all
        return _invalid(value, "is no finite number")
    return float(value)


def _invalid(value: object, why: str) -> Unusable:
    """Say that a value is none of a field; of lists only the key table can."""
    is_invalid = not isinstance(value, list | dict)
    return Unusable(f"{value!r:.60} {why}", is_invalid)


def whole_number(text: str) -> int | None:
    """Return a whole number of decimal digits; None for others, and for absurd ones.

    A count of thousands of digits is none, and Python refuses to convert it.
    """
    digits = text.strip()
    is_number = digits.isdecimal() and len(digits) <= _MOST_DIGITS
    return int(digits) if is_number else None


def parse_number(text: str) -> float | None:
    """Return the number that a text writes, or None."""
    stripped = text.strip()
    return float(stripped) if _NUMBER.match(stripped) else None


def boolean(value: object) -> object:
    """Return true or false, also in the words of YAML 1.1 and argument parsers."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in {0, 1}:
        return bool(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if word in TRUE_TEXTS:
            return True
        if word in FALSE_TEXTS:
            return False
    return placeholder(value) or _invalid(value, "is neither true nor false")


def text(value: object) -> object:
    """Return a text, or a number or a word that a loader took for something else."""
    if isinstance(value, str):
        return placeholder(value) or value
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return Unusable(f"a {type(value).__name__} is not a text")


def texts(value: object) -> object:
    """Return one text, or a list of them."""
    every = value if isinstance(value, list) else [value]
    result = tuple(item for item in every if isinstance(item, str) and item)
    if not every or len(result) != len(every):
        return Unusable(f"{value!r:.60} is neither a text nor a list of texts")
    return next(filter(None, map(placeholder, result)), result)


def lower_text(value: object) -> object:
    """Return a text in lower case, for names that frameworks compare so."""
    converted = text(value)
    return converted.lower() if isinstance(converted, str) else converted


def minutes(value: object) -> object:
    """Return the minutes as seconds."""
    return _scaled(value, 60.0)


def mebibytes(value: object) -> object:
    """Return MiB as bytes."""
    scaled = _scaled(value, 2.0**20)
    return int(scaled) if isinstance(scaled, float) else scaled


def _scaled(value: object, factor: float) -> object:
    converted = number(value)
    return converted * factor if isinstance(converted, float) else converted


def negation(value: object) -> object:
    """Return the opposite of a switch."""
    converted = boolean(value)
    return not converted if isinstance(converted, bool) else converted


def one_of(table: Mapping[str, object]) -> Convert:
    """Return a conversion by a table of lower-case words."""

    def convert(value: object) -> object:
        word = lower_text(value)
        if isinstance(word, Unusable):
            return word
        if word in table:
            return table[str(word)]
        return Unusable(f"{value!r:.60} is none of {', '.join(table)}")

    return convert


Field = tuple[str, Convert]
# As text: to make the union costs 1 ms at start-up.
Fields: TypeAlias = "Mapping[str, Field | Fields]"

_NUMBERS = frozenset({"int", "float"})
_NUMBER_STARTS = frozenset("+-.0123456789")
_SWITCH_WORDS = (TRUE_TEXTS | FALSE_TEXTS) - {"0", "1"}


class TabulatedDefault(Record):
    """A key whose default the format's table knows, and the leaf that it gives."""

    key: str
    leaf: str
    convert: Convert


def section(value: object, *names: str) -> Mapping[str, object]:
    """Return the mapping at `value` or at the names below it.

    Empty for anything else.
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return the items of a list; none for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


def apply(
    sheet: FactSheet,
    data: object,
    fields: Fields,
    at: KeyPath = (),
    *,
    weakly: bool = False,
) -> None:
    """State the leaf of each key that stands in `data`; null states nothing.

    Weakly: a statement of another file about the same leaf is no conflict and wins.
    """
    for key, value in section(data).items():
        field = fields.get(key)
        if field is None or value is None:
            continue
        if not isinstance(field, tuple):
            apply(sheet, value, field, (*at, key), weakly=weakly)
            continue
        leaf, convert = field
        converted = convert(value)
        if not weakly:
            put(sheet, leaf, converted, (*at, key))
        elif not isinstance(converted, Unusable):
            weak_default(sheet, leaf, converted, key, (*at, key))


def put(sheet: FactSheet, leaf: str, converted: object, at: KeyPath | Place) -> None:
    """State what a conversion gave: the value, or that it is of no use."""
    if isinstance(converted, Unusable):
        note = sheet.invalid if converted.is_invalid else sheet.unusable
        note(leaf, converted.reason, at)
    else:
        sheet.state(leaf, converted, at)


def derive_switch(
    sheet: FactSheet, leaf: str, note: str, at: KeyPath | Place, *, is_on: bool = True
) -> None:
    """Derive that something is on, or off."""
    sheet.derive(leaf, is_on, note, at)


def weak_default(
    sheet: FactSheet, leaf: str, value: object, note: str, at: KeyPath
) -> None:
    """State what a key says as long as no other file says more: it loses quietly."""
    sheet.facts.append(Fact(leaf, value, "default", (sheet.place(at),), note))


def put_numbers(
    sheet: FactSheet, leaves: tuple[str, ...], value: object, at: KeyPath
) -> None:
    """State one number of a list for each leaf; a text speaks of all of them."""
    numbers = items(value)
    if len(numbers) == len(leaves):
        for index, (leaf, item) in enumerate(zip(leaves, numbers, strict=True)):
            put(sheet, leaf, number(item), (*at, index))
    elif value is not None:
        for leaf in leaves:
            put(sheet, leaf, number(value), at)


def without_place(sheet: FactSheet, leaf: str, reason: str) -> None:
    """Say why a leaf is unknown although nothing in the file speaks of it."""
    sheet.facts.append(Fact(leaf, None, "unknown", (), reason))


def add_defaults(sheet: FactSheet, defaults: Iterable[Fact]) -> None:
    """Add the defaults of leaves of which the sheet says nothing yet."""
    stated = {fact.name for fact in sheet.facts}
    sheet.facts.extend(fact for fact in defaults if fact.name not in stated)


def fixed_defaults(note: str, values: Mapping[str, object]) -> tuple[Fact, ...]:
    """Return the defaults that need no table: the framework cannot do otherwise."""
    return tuple(
        Fact(leaf, value, "default", (), note) for leaf, value in values.items()
    )


@cache
def tabulated_defaults(
    format_id: str,
    rows: tuple[TabulatedDefault, ...],
    version: FrameworkVersion | None = None,
    group: str = "",
) -> tuple[Fact, ...]:
    """Return the defaults in `version`, or in every tabulated one if it is None.

    A default of null is handed to the conversion like any other.
    """
    catalogue = keys_of_format(format_id)
    if catalogue is None:
        return ()
    facts: list[Fact] = []
    for key, leaf, convert in rows:
        known = catalogue.default(tuple(key.split(".")), version, group)
        if known is None:
            continue
        value = convert(known.value)
        if not isinstance(value, Unusable):
            written = "null" if known.value is None else str(known.value).lower()
            note = f"{key} is not set: {written} in {_versions(catalogue, version)}"
            facts.append(Fact(leaf, value, "default", (), note))
    return tuple(facts)


def _versions(catalogue: FrameworkKeys, version: FrameworkVersion | None) -> str:
    if version is None:
        return f"every tabulated version of {catalogue.family}"
    number = ".".join(str(part) for part in version.number)
    return f"{catalogue.family} {number}" + (" and later" if version.or_newer else "")


def texts_for_values(
    keys: Iterable[StatedKey],
    catalogue: FrameworkKeys | None,
    is_fatal: Callable[[KeyPath], bool | None],
) -> tuple[LoadedAs, ...]:
    """Return the texts where the framework's table expects a number or a switch.

    Args:
        keys: of the file, as its own loader reads them.
        catalogue: the key table with the expected types.
        is_fatal: whether such a text at a path stops the framework or falsifies its
            arithmetic; None where the framework converts it.
    """
    loaded_values: list[LoadedAs] = []
    for key in keys:
        text = key.value
        if not isinstance(text, str) or catalogue is None:
            continue
        expected = _expected(text, key.path, catalogue)
        fatal = is_fatal(key.path) if expected else None
        if fatal is not None:
            loaded = f"the text {text!r:.60}"
            loaded_as = LoadedAs(
                key.place.key, text, loaded, expected, key.place, fatal
            )
            loaded_values.append(
                loaded_as._replace(place=key.place._replace(part="value"))
            )
    return tuple(loaded_values)


def _expected(text: str, path: KeyPath, catalogue: FrameworkKeys) -> str:
    """Return what the table expects instead of a text that reads like it."""
    if text[:1] in _NUMBER_STARTS and parse_number(text) is not None:
        wanted = _types(path, catalogue)
        if wanted == {"int"}:
            return "a whole number"
        if wanted and wanted <= _NUMBERS:
            return "a number"
    elif text.lower() in _SWITCH_WORDS and _types(path, catalogue) == {"bool"}:
        return "true or false"
    return ""


def _types(path: KeyPath, catalogue: FrameworkKeys) -> set[str]:
    row = catalogue.lookup(path)
    return set(row.type.split("|")) - {"null"} if row is not None else set()


def words_loaded_as_false(
    document: Document, keys: Iterable[str], *, fatal: bool, unless: str = ""
) -> tuple[LoadedAs, ...]:
    """Return the top-level keys where YAML 1.1 reads the word `no` as false.

    Args:
        document: the file.
        keys: those that hold words.
        fatal: whether the framework stops on it.
        unless: the option of the launcher that is read instead where it is given.
    """
    data = section(document.data)
    loaded_values: list[LoadedAs] = []
    for key in keys:
        if data.get(key) is not False:
            continue
        raw = document.raw((key,))
        if raw is not None and raw.text.lower() == "no":
            place = document.place((key,))
            written, expected = raw.text, "the word 'no' in quotes"
            loaded_values.append(
                LoadedAs(key, written, "false", expected, place, fatal, unless)
            )
    return tuple(loaded_values)
