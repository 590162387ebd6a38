"""Which values a framework takes for a key, by the row of its key table.

A row says which type a key has. What else is taken in its place (a number in quotes,
null, `${...}`) is a matter of the framework's loader and of the classes behind it: the
`Loader` of the format says that. The editors' JSON Schemas are made of the same answer.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

# What becomes of a value that is not of the declared type:
# `checked`: the framework compares types and stops, `converted`: it turns texts into
# numbers and switches, `trusted`: it neither looks nor converts, and computes with it.
Handling = Literal["checked", "converted", "trusted"]

# A number as text, as Python's int() and float() read it.
INTEGER_TEXT = r"^\s*[-+]?\d[\d_]*\s*$"
NUMBER_TEXT = (
    r"^\s*[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d+)([eE][-+]?\d+)?\s*$|^\s*[-+]?\.?(inf|nan)\s*$"
)
EXPONENT_TEXT = r"^[-+]?\d[\d_]*(\.\d*)?[eE][-+]?\d+$"  # a text for YAML 1.1 alone
# YAML 1.1 reads it as a number, editors read YAML 1.2, where it is a text.
UNDERSCORED = r"^[-+]?\d+(_\d+)+(\.\d*)?$"
# YAML 1.1 reads these as switches, editors read YAML 1.2, where they are texts.
SWITCH_WORDS = r"^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$"
SWITCH_TEXT = r"^([Tt]rue|TRUE|[Ff]alse|FALSE|[01yYnNtTfF])$"
AUTO = r"^auto$"
# An amount of a Kubernetes resource: apimachinery, resource.MustParse.
QUANTITY_TEXT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?$"
INTERPOLATED = r"\$\{|^\?\?\?$"
BOUND = lazy_pattern(r"(>=|<=|>|<)\s*(-?[\d.]+)")
_LIST = lazy_pattern(r"list\[(.*)\]")
# What a shell, a template or another tool fills in before the framework reads it.
_FILLED_IN = lazy_pattern(
    r"\$[({A-Za-z_]|\{\{|^\?\?\?$|^<[^<>|]*>$|^(?:your|YOUR)[_-]\w+$|^@|^%|`"
)
_BLOCKS = frozenset({"object", "map"})
_LONGEST = 60  # characters of a value in a message
_SCALARS = frozenset({bool, int, float, str, type(None)})


class Loader(Record):
    """How the loader of one format takes what stands in its files.

    Attributes:
        handling: of values that are not of the declared type.
        top: the handling of keys at the top, where that is another one.
        as_written: blocks whose values are handled as those at the top.
        language: of most files; JSON is YAML for every loader of YAML here.
        reads_exponents: the loader reads `2e-5` as a number, where YAML 1.1 has a text.
        takes_scalars_as_text: a number or switch may stand where a text is wanted.
        takes_null: null may stand for every value; elsewhere only where it is declared.
        takes_auto: the text `auto` may stand for every number and switch.
        interpolates: a text with `${...}`, or `???`, may stand for every value.
        is_mined: the types were gathered from published files, not from declarations:
            where they name texts, lists and blocks alone they are a hint and refuse
            nothing, and a whole number may be any.
        joins_lists: a list may be written as one text of several words.
        demands: keys that the table calls required must stand in the file itself; where
            a command line may state them, their absence is no fault of the file.
        closed_texts: keys declared as `enum|str` whose texts are members all the same.
        closes_choices: choices of texts are all that is taken, as argparse has it.
        presets: by a key that names a file of the framework's own: the keys that the
            file sets in place of the file at hand, by its name; `*` are those that any
            of them may set. A file that is not listed may set them all.
    """

    handling: Handling
    top: Handling | None = None
    as_written: tuple[str, ...] = ()
    language: Literal["yaml", "json", "toml", "shell"] = "yaml"
    reads_exponents: bool = False
    takes_scalars_as_text: bool = True
    takes_null: bool = True
    takes_auto: bool = False
    interpolates: bool = False
    is_mined: bool = False
    joins_lists: bool = False
    demands: bool = False
    closed_texts: tuple[str, ...] = ()
    closes_choices: bool = False
    presets: Mapping[str, Mapping[str, Sequence[str]]] = {}

    def handling_at(self, path: str) -> Handling:
        """Return how values at a path of the table are handled."""
        first, _, below = path.partition(".")
        if self.top is not None and (not below or first in self.as_written):
            return self.top
        return self.handling


class TypedRow(NamedTuple):
    """What a row of a key table says of the values of its key.

    Attributes:
        path: as the table writes it.
        type: alternatives with bars between them: `int|list[int]|null`.
        choices: the values that are taken, where they are listed.
        range: bounds of a number: `>= 0, < 1`.
        takes_null: null is declared, or a default of some release.
        no_amounts: sentinels and defaults, which are taken whatever the range.
    """

    path: str
    type: str
    choices: Sequence[Any] = ()
    range: str = ""
    takes_null: bool = False
    no_amounts: Sequence[Any] = ()


class Accepted:
    """What may stand in one place, gathered kind by kind.

    Attributes:
        types: names as JSON Schema has them; the first is what editors fill in.
        patterns: of texts that are taken.
        words: what is taken, for messages.
        any_text: every text is taken.
        choices: values that are taken besides.
        items: what lists hold; empty for anything.
        any_list: a list of anything is taken.
        anything: every value is taken.
        bounds: sign and number, of numbers.
        unbounded: values that are taken although they lie outside.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.types: dict[str, None] = {}
        self.patterns: list[str] = []
        self.words: list[str] = []
        self.any_text = False
        self.choices: list[Any] = []
        self.items: list[Accepted] = []
        self.any_list = False
        self.anything = False
        self.bounds: tuple[tuple[str, float], ...] = ()
        self.unbounded: frozenset[str] = frozenset()

    @property
    def is_worded(self) -> bool:
        """Whether words alone are taken, which a script may name otherwise."""
        return {"boolean", "integer", "number"}.isdisjoint(self.types)

    def take(self, *names: str, word: str = "") -> None:
        """Let values of these types stand here."""
        self.types.update(dict.fromkeys(names))
        self.words += [word] if word else []

    def take_text(self, pattern: str, word: str = "") -> None:
        """Let texts of this form stand here."""
        self.patterns.append(pattern)
        self.words += [word] if word else []

    def takes(self, value: object) -> bool:
        """Return whether a value may stand here, but for its size."""
        if self.anything or any(_same(value, choice) for choice in self.choices):
            return True
        if isinstance(value, str):
            return self.any_text or any(
                re.search(pattern, value) for pattern in self.patterns
            )
        if isinstance(value, list) and "array" in self.types:
            inner = self.items
            return self.any_list or not inner or all(map(inner[0].takes, value))
        return any(name in self.types for name in _type_names(value))

    def in_words(self) -> str:
        """Return what is taken, as the end of a sentence."""
        words = dict.fromkeys(word for word in self.words if "$" not in word)
        if self.choices:
            shown = [_shown(choice) for choice in self.choices]
            most = 12
            more = f" and {len(shown) - most} more" if len(shown) > most else ""
            listed = ", ".join(shown[:most]) + more
            words[f"one of {listed}" if len(shown) > 1 else listed] = None
        if self.any_text:
            words["a text"] = None
        return " or ".join(words) or "another type"


def _type_names(value: object) -> tuple[str, ...]:
    """Return the types of JSON Schema that a value is of."""
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("boolean",)
    if isinstance(value, int):
        return ("integer", "number")
    if isinstance(value, float):
        return ("integer", "number") if value.is_integer() else ("number",)
    if isinstance(value, dict):
        return ("object",)
    return ("array",) if isinstance(value, list) else ("string",)


def _same(value: object, choice: object) -> bool:
    if isinstance(value, bool) or isinstance(choice, bool):
        return value is choice
    return value == choice


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def accepted(row: TypedRow, loader: Loader) -> Accepted:
    """Return what may stand at the key of a row, without what stands below it."""
    handling = loader.handling_at(row.path)
    result = Accepted()
    kinds = split_types(row.type)
    for kind in kinds:
        _add(result, kind, handling, loader)
    if loader.is_mined and {"bool", "int", "float"} & {*kinds}:
        result.anything = "any" in kinds
    if loader.takes_null or row.takes_null:
        result.take("null")
    if loader.interpolates:
        result.take_text(INTERPOLATED, "${...}")
    if "enum" in kinds:
        _add_choices(result, row, loader)
    elif row.choices and not {"str", "path"} & {*kinds}:
        _restrict_numbers(result, row.choices)
    elif row.choices:
        result.choices.extend(row.choices)
        result.any_text = not loader.closes_choices
    if row.range:
        result.bounds = tuple(
            (sign, float(number)) for sign, number in BOUND.findall(row.range)
        )
        result.unbounded = frozenset(map(str, row.no_amounts))
    return result


def accepted_block(loader: Loader) -> Accepted:
    """Return what may stand at a block that has no row: other keys stand below it."""
    result = Accepted()
    result.take("object", word="a block")
    if loader.takes_null:
        result.take("null")
    if loader.interpolates:
        result.take_text(INTERPOLATED, "${...}")
    return result


def _add_choices(result: Accepted, row: TypedRow, loader: Loader) -> None:
    if not row.choices:
        result.any_text = True  # members that the table does not list
        return
    result.choices.extend(row.choices)
    if loader.takes_auto:
        result.take_text(AUTO)
    if row.path in loader.closed_texts:
        result.any_text = False
        for kind in ("string", "boolean", "number"):
            result.types.pop(kind, None)


def _restrict_numbers(result: Accepted, choices: Sequence[Any]) -> None:
    """Let only these numbers stand here, also where texts are converted."""
    for kind in ("integer", "number"):
        result.types.pop(kind, None)
    result.choices.extend(choices)
    if INTEGER_TEXT in result.patterns:
        result.patterns.remove(INTEGER_TEXT)
        result.choices.extend(str(choice) for choice in choices)


def _add(result: Accepted, kind: str, handling: Handling, loader: Loader) -> None:
    """Let one kind of value stand here."""
    element = _LIST.match(kind)
    if element is not None or kind == "list":
        _add_list(result, element[1] if element else "any", handling, loader)
    elif kind in {"int", "float"}:
        _add_number(result, kind, handling, loader)
    elif kind in {"bool", "flag"}:
        _add_switch(result, handling, loader)
    elif kind in {"str", "path"}:
        result.take("string")
        result.any_text = True
        if loader.takes_scalars_as_text:
            result.take("boolean", "number")
        result.anything |= loader.is_mined
    elif kind == "quantity":
        result.take("number", word="a number")
        result.take_text(QUANTITY_TEXT, "a quantity such as 500m or 16Gi")
    elif kind in _BLOCKS:
        result.take("object", word="a block")
        result.anything |= loader.is_mined
    elif kind == "null":
        result.take("null")
    elif kind == "any":
        result.anything = True


def _add_list(
    result: Accepted, element: str, handling: Handling, loader: Loader
) -> None:
    result.anything |= loader.is_mined or loader.joins_lists
    if loader.takes_auto:
        result.take_text(AUTO, "auto")
    result.take("array", word="a list")
    inner = Accepted()
    for kind in split_types(element):
        _add(inner, kind, handling, loader)
    if loader.interpolates:
        inner.take_text(INTERPOLATED, "${...}")
    is_open = inner.anything or not (inner.types or inner.patterns or inner.any_text)
    if "enum" in element or is_open:
        result.any_list = True
    else:
        result.items.append(inner)


def _add_number(
    result: Accepted, kind: str, handling: Handling, loader: Loader
) -> None:
    if kind == "int" and not loader.is_mined:
        result.take("integer", word="a whole number")
    else:
        result.take("number", word="a number")
    if handling == "converted":
        result.take_text(INTEGER_TEXT if kind == "int" else NUMBER_TEXT)
    elif loader.language == "yaml":
        result.take_text(UNDERSCORED)
    if loader.reads_exponents:
        result.take_text(EXPONENT_TEXT)
    if loader.takes_auto:
        result.take_text(AUTO, "auto")


def _add_switch(result: Accepted, handling: Handling, loader: Loader) -> None:
    result.take("boolean", word="true or false")
    if handling != "checked":
        result.take("integer")
    if handling == "converted":
        result.take_text(SWITCH_TEXT)
    if handling == "converted" or loader.language == "yaml":
        result.take_text(SWITCH_WORDS)
    if loader.takes_auto:
        result.take_text(AUTO, "auto")


@lru_cache(maxsize=1024)
def split_types(text: str) -> Sequence[str]:
    """Return the alternatives of a type; a bar within brackets belongs to elements."""
    parts: list[str] = []
    depth = 0
    current = ""
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    return [*parts, current]


class ValueFault(Record):
    """A value that its key does not take.

    Attributes:
        kind: `type` and `choice`: another value is wanted; `range`: it lies outside.
        takes: what the key takes, in words.
        meant: the choice that it is nearest to; empty where it is like none of them.
        is_slip: one letter parts the value from that choice, so it is no other word.
    """

    kind: Literal["type", "choice", "range"]
    takes: str
    meant: str = ""
    is_slip: bool = False


def value_fault(taken: Accepted, value: object) -> ValueFault | None:
    """Return why a framework refuses a value; None where it takes it.

    A text that another tool fills in is no value yet; a flag without words behind it is
    a switch that is on.
    """
    if taken.anything:
        return None
    if type(value) in _SCALARS:
        return _fault_of_scalar(taken, type(value).__name__, value)
    return _fault(taken, value)


# Files share most of their values; a type tells 1 from true.
@lru_cache(maxsize=8192)
def _fault_of_scalar(taken: Accepted, _: str, value: object) -> ValueFault | None:
    return _fault(taken, value)


def _fault(taken: Accepted, value: object) -> ValueFault | None:
    if taken.takes(value):
        is_bounded = taken.bounds and str(value) not in taken.unbounded
        broken = _broken_bound(taken.bounds, value) if is_bounded else ""
        return ValueFault("range", broken) if broken else None
    if (value == [] and "boolean" in taken.types) or is_filled_in(value):
        return None
    words = [choice for choice in taken.choices if isinstance(choice, str)]
    if words and isinstance(value, str):
        from speccheck.validator.evidence import spelling  # noqa: PLC0415 - rare

        written = value.lower()
        meant = spelling.nearest(written, (word.lower() for word in words), 0.5)
        exact = next((word for word in words if word.lower() == meant), "")
        is_slip = meant is not None and spelling.is_slip(written, meant)
        return ValueFault("choice", taken.in_words(), exact, is_slip)
    return ValueFault("type", taken.in_words())


def is_filled_in(value: object) -> bool:
    """Return whether a value, or a part of it, is a text that is yet to be filled."""
    if isinstance(value, str):
        return _FILLED_IN.search(value) is not None
    if isinstance(value, list):
        return any(map(is_filled_in, value))
    return isinstance(value, dict) and any(map(is_filled_in, value.values()))


_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _broken_bound(bounds: Sequence[tuple[str, float]], value: object) -> str:
    """Return the bounds in words where a number lies outside; else nothing."""
    number = _number(value)
    if number is None or all(_HOLDS[sign](number, limit) for sign, limit in bounds):
        return ""
    return "a number " + " and ".join(f"{sign} {limit:g}" for sign, limit in bounds)


def _number(value: object) -> float | None:
    """Return the number that a value is, or that its text writes."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.inf if isinstance(value, int) else None
    return number


def shown_value(value: object) -> str:
    """Return a value as its file may write it, short enough for a message."""
    if isinstance(value, str):
        text = repr(value) if not value or value != value.strip() else value
    elif isinstance(value, list | dict):
        text = "a list" if isinstance(value, list) else "a block"
    else:
        text = _shown(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
