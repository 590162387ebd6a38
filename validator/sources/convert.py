"""Conversions from what a file states to what a leaf of the plan holds.

A conversion gives the value, or `Unusable` with the reason that the plan then names.
"""

from collections.abc import Callable, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record


class Unusable(Record):
    """A text that is there but cannot be worked out; `reason` is for the reader."""

    reason: str


Convert = Callable[[object], object]

_PLACEHOLDER = lazy_pattern(r"\$\{|\$\(|\{\{|^\?\?\?$|^<[^<>]*>$")
_NUMBER = lazy_pattern(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d+)([eE][+-]?\d+)?$")
_LARGEST = 1e300  # leaves room to scale by units
TRUE_TEXTS = frozenset({"true", "yes", "on", "1"})
FALSE_TEXTS = frozenset({"false", "no", "off", "0"})


def placeholder(value: object) -> Unusable | None:
    """Texts that stand for a value that another tool fills in."""
    if not isinstance(value, str):
        return None
    if value == "auto":
        return Unusable("auto: filled in at start by the framework above")
    if _PLACEHOLDER.search(value):
        return Unusable(f"placeholder {value[:60]}")
    return None


def integer(value: object) -> object:
    """A whole number; a number in quotes is not one."""
    if isinstance(value, bool):
        return Unusable(f"{value} is not a whole number")
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return placeholder(value) or Unusable(f"{value!r:.60} is not a whole number")


def integer_text(value: object) -> object:
    """A whole number that may be written as text: flags, and loaders that coerce."""
    if isinstance(value, str) and (number := parse_number(value)) is not None:
        value = number
    return integer(value)


def number(value: object) -> object:
    """A finite number; texts such as `2e-5` count, since their loader coerces them."""
    if isinstance(value, bool):
        return Unusable(f"{value} is not a number")
    if isinstance(value, str):
        parsed = parse_number(value)
        if parsed is None:
            return placeholder(value) or Unusable(f"{value!r:.60} is not a number")
        value = parsed
    if not isinstance(value, int | float):
        return Unusable(f"{value!r:.60} is not a number")
    if not -_LARGEST < value < _LARGEST:  # also what is not a number at all
        return Unusable(f"{value!r:.60} is no finite number")
    return float(value)


def parse_number(text: str) -> float | None:
    """The number that a text writes, or None."""
    stripped = text.strip()
    return float(stripped) if _NUMBER.match(stripped) else None


def boolean(value: object) -> object:
    """True or false, also in the words that YAML 1.1 and argument parsers take."""
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
    return placeholder(value) or Unusable(f"{value!r:.60} is neither true nor false")


def text(value: object) -> object:
    """A text, or a number or a word that a loader took for something else."""
    if isinstance(value, str):
        return placeholder(value) or value
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return Unusable(f"a {type(value).__name__} is not a text")


def texts(value: object) -> object:
    """One text, or a list of them."""
    every = value if isinstance(value, list) else [value]
    found = tuple(one for one in every if isinstance(one, str) and one)
    if not every or len(found) != len(every):
        return Unusable(f"{value!r:.60} is neither a text nor a list of texts")
    return next(filter(None, map(placeholder, found)), found)


def lower_text(value: object) -> object:
    """A text in lower case, for names that frameworks compare so."""
    converted = text(value)
    return converted.lower() if isinstance(converted, str) else converted


def minutes(value: object) -> object:
    """Minutes as seconds."""
    return _scaled(value, 60.0)


def mebibytes(value: object) -> object:
    """MiB as bytes."""
    scaled = _scaled(value, 2.0**20)
    return int(scaled) if isinstance(scaled, float) else scaled


def _scaled(value: object, factor: float) -> object:
    converted = number(value)
    return converted * factor if isinstance(converted, float) else converted


def negation(value: object) -> object:
    """The opposite of a switch."""
    converted = boolean(value)
    return not converted if isinstance(converted, bool) else converted


def one_of(table: Mapping[str, object]) -> Convert:
    """A conversion by a table of lower-case words."""

    def convert(value: object) -> object:
        word = lower_text(value)
        if isinstance(word, Unusable):
            return word
        if word in table:
            return table[str(word)]
        return Unusable(f"{value!r:.60} is none of {', '.join(table)}")

    return convert
