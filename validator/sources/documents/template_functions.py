"""Functions of templates as Helm has them: those of Go and the commoner of sprig.

None of them makes more of a text or a list than a chart could need. Sources: Go
text/template (Functions); Masterminds/sprig v3; helm.sh/docs/chart_template_guide.
"""

import re
from collections.abc import Callable, Mapping

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


def _of_text(act: Callable[..., object]) -> Callable[..., object]:
    """Return a function whose arguments are all taken as text."""
    return lambda *values: act(*map(text_of, values))


# What these make of a value that is left to be set would be a number of nobody.
NEED_NUMBERS = frozenset(
    {"add", "add1", "ceil", "div", "floor", "int", "int64", "max", "min", "mod"}
    | {"mul", "sub"}
)
TAKE_OPEN = frozenset({"default", "or", "and", "coalesce", "quote", "squote"})
FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "add": _sum,
    "add1": lambda value: _number(value) + 1,
    "and": _all_true,
    "ceil": lambda value: -(-float(text_of(value)) // 1),
    "coalesce": _first_true,
    "contains": _of_text(lambda part, text: part in text),
    "default": _default,
    "dict": _dict,
    "div": _quotient,
    "empty": lambda value: not is_true(value),
    "eq": _equals,
    "first": lambda value: _index(value, 0),
    "float64": lambda value: float(text_of(value) or 0),
    "floor": lambda value: float(text_of(value)) // 1,
    "ge": _compared(lambda left, right: left >= right),
    "get": _index,
    "gt": _compared(lambda left, right: left > right),
    "hasKey": lambda value, key: isinstance(value, Mapping) and text_of(key) in value,
    "hasPrefix": _of_text(lambda part, text: text.startswith(part)),
    "hasSuffix": _of_text(lambda part, text: text.endswith(part)),
    "indent": _indented,
    "index": _index,
    "int": _number,
    "int64": _number,
    "join": lambda sign, items: text_of(sign).join(
        map(text_of, items if isinstance(items, list) else [items])
    ),
    "keys": lambda value: [*value] if isinstance(value, Mapping) else [],
    "last": lambda value: value[-1] if isinstance(value, list) and value else None,
    "le": _compared(lambda left, right: left <= right),
    "len": _length,
    "list": lambda *values: [*values],
    "lower": _of_text(str.lower),
    "lt": _compared(lambda left, right: left < right),
    "max": lambda *values: max(map(_number, values)),
    "min": lambda *values: min(map(_number, values)),
    "mod": lambda left, right: _number(left) % _number(right),
    "mul": _product,
    "ne": lambda left, right: not _equals(left, right),
    "nindent": lambda count, text: "\n" + _indented(count, text),
    "not": lambda value: not is_true(value),
    "or": _first_true,
    "print": lambda *values: "".join(map(text_of, values)),
    "printf": _printed,
    "quote": lambda *values: " ".join(f'"{text_of(item)}"' for item in values),
    "replace": _of_text(lambda old, new, text: text.replace(old, new)),
    "required": lambda _, value: (
        OpenValue("a required value") if value is None else value
    ),
    "splitList": _of_text(lambda sign, text: text.split(sign)),
    "squote": lambda *values: " ".join(f"'{text_of(item)}'" for item in values),
    "sub": lambda left, right: _number(left) - _number(right),
    "ternary": lambda yes, no, test: yes if is_true(test) else no,
    "toJson": _json,
    "toString": text_of,
    "toYaml": _yaml,
    "trim": _of_text(str.strip),
    "trimPrefix": _of_text(lambda part, text: text.removeprefix(part)),
    "trimSuffix": _of_text(lambda part, text: text.removesuffix(part)),
    "trunc": lambda count, text: text_of(text)[: _number(count)],
    "until": _until,
    "upper": _of_text(str.upper),
}
