"""Cases of a parametrised test, of which few run every day and the others are slow."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def few(cases: Iterable[T], is_everyday: Callable[[T], bool]) -> list[Any]:
    """Return the cases for `parametrize`, marked slow but for the everyday ones."""
    return [
        pytest.param(case, marks=[] if is_everyday(case) else pytest.mark.slow)
        for case in cases
    ]


def few_rows(count: int, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return rows of several arguments, marked slow but for the first ones."""
    later = (pytest.param(*row, marks=pytest.mark.slow) for row in rows[count:])
    return [*rows[:count], *later]


def first_of(cases: Iterable[T], key: Callable[[T], object]) -> frozenset[T]:
    """Return the first case of each key."""
    first: dict[object, T] = {}
    for case in cases:
        first.setdefault(key(case), case)
    return frozenset(first.values())
