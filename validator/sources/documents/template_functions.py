"""Functions of templates as Helm has them: those of Go and the commoner of sprig.

None of them makes more of a text or a list than a chart could need. Sources: Go
text/template (Functions); Masterminds/sprig v3; helm.sh/docs/chart_template_guide.
"""

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from speccheck.validator.evidence.record import Record

MOST_CHARACTERS = 2_000_000
_MOST_ITEMS = 20_000
_LARGEST = 2**63 - 1  # of Go's integers
_WIDEST = 200


class TemplateFault(Exception):  # noqa: N818 - of the text, not of speccheck
    """A template that this subset does not read; the text says what of it."""


class OpenValue(Record):
    """A value that only the installation knows: the expression that gives it."""

    expression: str


def demand_bounds(value: object) -> object:
    """Return a value; raises TemplateFault for more than a template may make."""
    if isinstance(value, str):
        if len(value) > MOST_CHARACTERS:
            message = "it makes a text that is too long"
            raise TemplateFault(message)
        return value
    waiting: list[object] = [value]
    count = 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, Mapping):
            waiting += item.values()
        count += 1
        if count > _MOST_ITEMS:
            message = "it makes a list that is too long"
            raise TemplateFault(message)
    return value


def is_true(value: object) -> bool:
    """Return whether a condition takes a value for true."""
    return bool(value)


def text_of(value: object) -> str:
    """Return a value as Go prints it; what is open as `${expression}`."""
    if isinstance(value, OpenValue):
        return f"${{{value.expression}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return "[" + " ".join(text_of(item) for item in value) + "]"
    return str(value)


def _number(value: object) -> int:
    """Return a value as sprig's integers take it: 0 for what is none."""
    try:
        number = int(float(text_of(value) or 0))
    except (ValueError, OverflowError):
        return 0
    return max(-_LARGEST, min(number, _LARGEST))


def _yaml(value: object) -> str:
    from yaml import safe_dump  # noqa: PLC0415 - charts alone

    if not isinstance(value, Mapping | list):
        return "null" if value is None else text_of(value)
    return str(safe_dump(value, sort_keys=True, width=10_000)).rstrip("\n")


def _json(value: object) -> str:
    from json import dumps  # noqa: PLC0415 - charts alone

    return dumps(value)


def _indented(count: object, text: object) -> str:
    rows = text_of(text).split("\n")
    blanks = " " * min(_number(count), _WIDEST)
    if len(rows) * len(blanks) > MOST_CHARACTERS:
        message = "it makes a text that is too long"
        raise TemplateFault(message)
    return "\n".join(blanks + row for row in rows)


def _default(given: object, value: object = None) -> object:
    return value if isinstance(value, OpenValue) or is_true(value) else given


def _first_true(*values: object) -> object:
    """Return the first value that holds, else the last: Go's `or`, sprig's coalesce."""
    for value in values:
        if isinstance(value, OpenValue) or is_true(value):
            return value
    return values[-1] if values else None


def _all_true(*values: object) -> object:
    return next(
        (
            item
            for item in values
            if not isinstance(item, OpenValue) and not is_true(item)
        ),
        next((item for item in values if isinstance(item, OpenValue)), values[-1]),
    )


def _printed(form: object, *values: object) -> str:
    rest = iter(values)
    return re.sub(
        r"%[-+0-9.]*([a-z%])",
        lambda sign: "%" if sign[1] == "%" else _as_verb(sign[1], next(rest, None)),
        text_of(form),
    )


def _as_verb(verb: str, value: object) -> str:
    return f'"{text_of(value)}"' if verb == "q" else text_of(value)


def _index(value: object, *steps: object) -> object:
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(text_of(step))
        elif isinstance(value, list):
            value = value[_number(step)]
        else:
            return None
    return value


def _dict(*values: object) -> dict[str, object]:
    pairs = zip(values[::2], values[1::2], strict=False)
    return {text_of(key): value for key, value in pairs}


def _sum(*values: object) -> int:
    return sum(map(_number, values))


def _product(*values: object) -> int:
    result = 1
    for value in values:
        result = _number(result * _number(value))
    return result


def _quotient(left: object, right: object) -> int:
    result = abs(_number(left)) // abs(_number(right))
    return result if (_number(left) < 0) == (_number(right) < 0) else -result


def _until(count: object) -> object:
    return [*range(min(_number(count), 10_000))]


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | list | Mapping) else 0


def _compared(test: Callable[[float, float], bool]) -> Callable[..., bool]:
    def compare(left: object, right: object) -> bool:
        return test(float(text_of(left) or 0), float(text_of(right) or 0))

    return compare


def _equals(left: object, *others: object) -> bool:
    return any(text_of(left) == text_of(other) for other in others)


def _of_text(act: Callable[[str], object]) -> Callable[[object], object]:
    """Return a function whose argument is taken as text."""
    return lambda value: act(text_of(value))


def _of_texts(act: Callable[[str, str], object]) -> Callable[[object, object], object]:
    """Return a function whose two arguments are taken as text."""
    return lambda first, second: act(text_of(first), text_of(second))


def _replaced(old: object, new: object, text: object) -> str:
    return text_of(text).replace(text_of(old), text_of(new))


def _chosen(yes: object, no: object, test: object) -> object:
    return yes if is_true(test) else no


def _keys(value: object) -> list[object]:
    return list[object](value) if isinstance(value, Mapping) else []


def _last(value: object) -> object:
    values = list[object](value) if isinstance(value, list) else []
    return values[-1] if values else None


class _OfMany(Protocol):
    """A function of any number of values."""

    def __call__(self, *values: object) -> object:
        """Return what the values come to."""
        ...


# What these make of a value that is left to be set would be a number of nobody.
NEED_NUMBERS = frozenset(
    {"add", "add1", "ceil", "div", "floor", "int", "int64", "max", "min", "mod"}
    | {"mul", "sub"}
)
TAKE_OPEN = frozenset({"default", "or", "and", "coalesce", "quote", "squote"})
_OF_ONE: Mapping[str, Callable[[object], object]] = {
    "add1": lambda value: _number(value) + 1,
    "ceil": lambda value: -(-float(text_of(value)) // 1),
    "empty": lambda value: not is_true(value),
    "first": lambda value: _index(value, 0),
    "float64": lambda value: float(text_of(value) or 0),
    "floor": lambda value: float(text_of(value)) // 1,
    "keys": _keys,
    "last": _last,
    "lower": _of_text(str.lower),
    "not": lambda value: not is_true(value),
    "trim": _of_text(str.strip),
    "upper": _of_text(str.upper),
}
_OF_TWO: Mapping[str, Callable[[object, object], object]] = {
    "contains": _of_texts(lambda part, text: part in text),
    "hasKey": lambda value, key: isinstance(value, Mapping) and text_of(key) in value,
    "hasPrefix": _of_texts(lambda part, text: text.startswith(part)),
    "hasSuffix": _of_texts(lambda part, text: text.endswith(part)),
    "join": lambda sign, items: text_of(sign).join(
        map(text_of, items if isinstance(items, list) else [items])
    ),
    "mod": lambda left, right: _number(left) % _number(right),
    "ne": lambda left, right: not _equals(left, right),
    "nindent": lambda count, text: "\n" + _indented(count, text),
    "required": lambda _, value: (
        OpenValue("a required value") if value is None else value
    ),
    "splitList": _of_texts(lambda sign, text: text.split(sign)),
    "sub": lambda left, right: _number(left) - _number(right),
    "trimPrefix": _of_texts(lambda part, text: text.removeprefix(part)),
    "trimSuffix": _of_texts(lambda part, text: text.removesuffix(part)),
    "trunc": lambda count, text: text_of(text)[: _number(count)],
}
_OF_MANY: Mapping[str, _OfMany] = {
    "list": lambda *values: [*values],
    "max": lambda *values: max(map(_number, values)),
    "min": lambda *values: min(map(_number, values)),
    "print": lambda *values: "".join(map(text_of, values)),
    "quote": lambda *values: " ".join(f'"{text_of(item)}"' for item in values),
    "squote": lambda *values: " ".join(f"'{text_of(item)}'" for item in values),
}
FUNCTIONS: Mapping[str, Callable[..., object]] = {
    **_OF_ONE,
    **_OF_TWO,
    **_OF_MANY,
    "add": _sum,
    "and": _all_true,
    "coalesce": _first_true,
    "default": _default,
    "dict": _dict,
    "div": _quotient,
    "eq": _equals,
    "ge": _compared(lambda left, right: left >= right),
    "get": _index,
    "gt": _compared(lambda left, right: left > right),
    "indent": _indented,
    "index": _index,
    "int": _number,
    "int64": _number,
    "le": _compared(lambda left, right: left <= right),
    "len": _length,
    "lt": _compared(lambda left, right: left < right),
    "mul": _product,
    "or": _first_true,
    "printf": _printed,
    "replace": _replaced,
    "ternary": _chosen,
    "toJson": _json,
    "toString": text_of,
    "toYaml": _yaml,
    "until": _until,
}
