"""Chance that comes out the same on every machine and in every release of Python.

Python promises that of `random()` with the same seed, and of nothing else in its module
`random`. All else is made of it here, by additions and products alone: a logarithm may
differ in its last bit from one C library to the next.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from speccheck.validator.evidence.record import Record

_T = TypeVar("_T")
_THROWS = 4
# The sum of four throws has a variance of a third.
_STRETCH = 1.7320508075688772
_WORD_BITS = 32


class Dice:
    """Numbers that follow from a seed of several words."""

    __slots__ = ("_throw",)

    def __init__(self, *seed: str | int) -> None:
        """Take the words of the seed: of a fleet, its seed and the node's number."""
        words = "/".join(map(str, seed))
        self._throw = Random(words).random  # noqa: S311 - nothing secret

    def between(self, low: float, high: float) -> float:
        """Return any number of the range, each as likely as the others."""
        return low + (high - low) * self._throw()

    def whole(self, low: int, high: int) -> int:
        """Return a whole number of the range, both ends in it."""
        return low + int((high - low + 1) * self._throw())

    def bell(self, middle: float, deviation: float) -> float:
        """Return a number about the middle, at most 3.47 deviations away.

        What is healthy has bounds: no node of a million may be sick by chance.
        """
        throw = self._throw
        total = throw() + throw() + throw() + throw()
        return middle + (total - _THROWS / 2) * _STRETCH * deviation

    def few(self, most: int) -> int:
        """Return nought mostly, and up to `most` seldom: half are below `most` / 64."""
        drawn = self._throw()
        drawn *= drawn
        return int((most + 1) * drawn * drawn * drawn)

    def happens(self, share: float) -> bool:
        """Return whether it happens, to that share of all."""
        return self._throw() < share

    def one_of(self, choices: Sequence[_T]) -> _T:
        """Return one of them, each as likely as the others."""
        return choices[int(len(choices) * self._throw())]

    def digest(self) -> str:
        """Return what a probe writes in the place of a serial number: 16 digits."""
        high, low = (int(self._throw() * 2**_WORD_BITS) for _ in range(2))
        return f"hashed:{high:08x}{low:08x}"


class Chance(Record):
    """What chance says of one machine.

    life: what stays as it is. today: what is another number each day. days: how many
    have passed since the first snapshot.
    """

    life: Dice
    today: Dice
    days: int = 0
