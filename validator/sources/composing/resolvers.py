"""What the resolvers of real training configurations compute.

OmegaConf brings `oc.*`; the others are registered by whoever loads the file, under
names that say what they compute. Seen in published files: multiply, divide_ceil,
divide_floor (NeMo and its launcher), mul (NeMo-RL), add, floor_div, if (NeMo
submissions to MLPerf); the rest are the same operations under their other names.
"""

import math
from collections.abc import Callable

from speccheck.validator.sources.convert import parse_number

_LARGEST = 1e18  # no count of a training run is larger; products of these stay exact


class ResolverFault(Exception):  # noqa: N818 - a fact about the file
    """Arguments of which a resolver can make nothing."""


Resolver = Callable[[list[object]], object]


def _numbers(values: list[object], least: int = 1) -> list[int | float]:
    found: list[int | float] = []
    for one in values:
        number = parse_number(one) if isinstance(one, str) else one
        if isinstance(number, bool) or not isinstance(number, int | float):
            message = f"{one!r:.40} is not a number"
            raise ResolverFault(message)
        if abs(number) > _LARGEST:
            message = "its numbers are too large"
            raise ResolverFault(message)
        if isinstance(number, float) and isinstance(one, str) and number.is_integer():
            number = int(number)
        found.append(number)
    if len(found) < least:
        message = f"{len(found)} arguments where at least {least} are needed"
        raise ResolverFault(message)
    return found


def _product(values: list[object]) -> object:
    return math.prod(_numbers(values))


def _sum(values: list[object]) -> object:
    return sum(_numbers(values))


def _difference(values: list[object]) -> object:
    first, *rest = _numbers(values)
    return first - sum(rest)


def _quotient(values: list[object]) -> float:
    first, second = (*_numbers(values, 2)[:2],)
    if not second:
        message = "divides by zero"
        raise ResolverFault(message)
    return first / second


def _true_quotient(values: list[object]) -> object:
    """A whole number where it comes out even, as the counts of a file are meant."""
    quotient = _quotient(values)
    return int(quotient) if quotient.is_integer() else quotient


def _floor(values: list[object]) -> object:
    return math.floor(_quotient(values))


def _ceiling(values: list[object]) -> object:
    return math.ceil(_quotient(values))


def _largest(values: list[object]) -> object:
    return max(_numbers(values))


def _smallest(values: list[object]) -> object:
    return min(_numbers(values))


def _choice(values: list[object]) -> object:
    """`if:condition,then,else`."""
    condition, *branches = values
    if len(branches) != 2:  # noqa: PLR2004 - then, else
        message = "if needs a condition and two values"
        raise ResolverFault(message)
    return branches[0] if condition else branches[1]


def _negation(values: list[object]) -> object:
    return not values[0]


def _equality(values: list[object]) -> object:
    return len(values) > 1 and values[0] == values[1]


def _whole(values: list[object]) -> object:
    return int(_numbers(values)[0])


def _decoded(values: list[object]) -> object:
    """`oc.decode`: a text as the number, truth value or null that it writes."""
    text = values[0]
    if not isinstance(text, str):
        return text
    words: dict[str, object] = {"true": True, "false": False, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    number = parse_number(text)
    if number is None:
        return text
    return int(number) if text.strip().lstrip("+-").isdecimal() else number


RESOLVERS: dict[str, Resolver] = {
    "multiply": _product,
    "mul": _product,
    "add": _sum,
    "sum": _sum,
    "sub": _difference,
    "subtract": _difference,
    "divide": _true_quotient,
    "div": _true_quotient,
    "divide_floor": _floor,
    "floor_div": _floor,
    "int_div": _floor,
    "divide_ceil": _ceiling,
    "ceil_div": _ceiling,
    "max": _largest,
    "min": _smallest,
    "if": _choice,
    "not": _negation,
    "eq": _equality,
    "int": _whole,
    "oc.decode": _decoded,
}
