"""Arithmetic and functions of Python on known values, within bounds."""

import ast
import operator
from collections.abc import Callable, Container, Sequence
from typing import TypeGuard

from speccheck.validator.sources.python.values import (
    Block,
    Evaluated,
    Known,
    Unknown,
    truth_of,
)

LONGEST_TEXT = 10_000  # characters that a text is worked out to
LONGEST_LIST = 2_000  # items that a list is worked out to
_LARGEST = 10**18  # as of the arithmetic of other configurations
_HIGHEST_POWER = 64


def _power(left: float, right: float) -> object:
    if abs(right) > _HIGHEST_POWER:
        raise OverflowError
    return left**right


def _is_in(member: object, collection: Container[object]) -> bool:
    return member in collection


def _is_not_in(member: object, collection: Container[object]) -> bool:
    return member not in collection


_BINARY: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARED: dict[type[ast.cmpop], Callable[..., object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: _is_in,
    ast.NotIn: _is_not_in,
}
_FUNCTIONS: dict[str, Callable[..., object]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
}
_FAULTS = (TypeError, ValueError, ArithmeticError)


def condition_of(*values: Evaluated) -> str:
    """Return the condition under which all of these hold; the first where several."""
    return next(
        (item.only_if for item in values if isinstance(item, Known) and item.only_if),
        "",
    )


def binary(operator: ast.operator, left: Evaluated, right: Evaluated) -> Evaluated:
    """Return what an operator makes of two values."""
    calculate = _BINARY.get(type(operator))
    if isinstance(operator, ast.Add) and _is_list(left) and _is_list(right):
        if len(left.entries) + len(right.entries) > LONGEST_LIST:
            return Unknown("a list that is too long")
        return _joined(left, right)
    if not isinstance(left, Known) or not isinstance(right, Known):
        return first_unknown(left, right)
    if calculate is None or not (_is_small(left.value) and _is_small(right.value)):
        return Unknown("an operation that is not worked out")
    texts = [value for value in (left.value, right.value) if isinstance(value, str)]
    if len(texts) == 1:
        return Unknown("an operation on a text that is not worked out")
    return _calculated(calculate, (left, right))


def _is_list(value: Evaluated) -> TypeGuard[Block]:
    return isinstance(value, Block) and value.is_list and not value.open_reason


def _joined(left: Block, right: Block) -> Block:
    """Return the list of the items of two."""
    result = Block(left.at, left.branches)
    result.is_list = True
    entries = (*left.entries.values(), *right.entries.values())
    result.entries = dict(enumerate(entries))
    return result


def compared(operator: ast.cmpop, left: Evaluated, right: Evaluated) -> Evaluated:
    """Return what a comparison of two values says."""
    compare = _COMPARED.get(type(operator))
    is_identity = isinstance(operator, ast.Is | ast.IsNot)
    is_none = isinstance(right, Known) and right.value is None
    if is_identity and is_none and _is_object(left):
        return Known(isinstance(operator, ast.IsNot))
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, Block):
        return _member(operator, left, right)
    if isinstance(left, Known) and isinstance(right, Known) and compare is not None:
        return _calculated(compare, (left, right))
    return first_unknown(left, right)


def _is_object(value: Evaluated) -> bool:
    """Tell whether a value is surely something, not what a function may give."""
    return isinstance(value, Block) and (
        value.is_built or value.is_list or not value.name
    )


def _member(operator: ast.cmpop, left: Evaluated, right: Block) -> Evaluated:
    """Return whether a value is in a list, or a key in a mapping."""
    if not isinstance(left, Known) or right.is_built or right.name:
        return first_unknown(left, right)
    members: list[Evaluated] = (
        [entry.value for entry in right.entries.values()]
        if right.is_list
        else [Known(key) for key in right.entries]
    )
    known = [item for item in members if isinstance(item, Known)]
    is_in = any(item.value == left.value and not item.only_if for item in known)
    if not is_in and (right.open_reason or len(known) < len(members)):
        return first_unknown(*members, right)
    if not is_in and any(item.only_if for item in known):
        return Unknown("a list of values that hold only where no others are given")
    return Known(is_in is isinstance(operator, ast.In), condition_of(left))


def negated(operator: ast.unaryop, value: Evaluated) -> Evaluated:
    """Return what a sign or `not` makes of a value."""
    if isinstance(operator, ast.Not) and isinstance(value, Block):
        is_true = truth_of(value)
        return first_unknown(value) if is_true is None else Known(not is_true)
    if not isinstance(value, Known):
        return first_unknown(value)
    if isinstance(operator, ast.Not):
        return value._replace(value=not value.value)
    if not isinstance(value.value, int | float):
        return Unknown("an operation that is not worked out")
    if isinstance(operator, ast.USub):
        return value._replace(value=-value.value)
    return value if isinstance(operator, ast.UAdd) else Unknown("its bits turned")


def applied(name: str, values: Sequence[Evaluated]) -> Evaluated | None:
    """Return what a function of Python makes of values; None for one not tabulated."""
    function = _FUNCTIONS.get(name)
    if function is None or not values:
        return None
    known = [value for value in values if isinstance(value, Known)]
    if len(known) < len(values) or not all(_is_small(item.value) for item in known):
        return first_unknown(*values)
    result = _calculated(function, known)
    if len(known) == 1 and isinstance(result, Known):
        return result._replace(note="")  # another type of the same value
    return result


def _calculated(function: Callable[..., object], values: Sequence[Known]) -> Evaluated:
    try:
        result = function(*(item.value for item in values))
    except _FAULTS:
        return Unknown("an operation that fails on these values")
    if not _is_small(result):
        return Unknown("a number or text that is too long")
    note = " and ".join(f"{item.value!r:.40}" for item in values)
    return Known(result, condition_of(*values), f"worked out of {note}")


def _is_small(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    if isinstance(value, int | float):
        return -_LARGEST <= value <= _LARGEST
    return value is None


def first_unknown(*values: Evaluated) -> Unknown:
    """Return why an expression of these values has none."""
    for value in values:
        if isinstance(value, Unknown):
            return value
    for value in values:
        if isinstance(value, Block) and value.open_reason:
            return Unknown(value.open_reason)
    return Unknown("what it is worked out of is not in the file")
