"""Two values of one leaf: whether they are the same, and by how much they differ."""

from collections.abc import Iterator
from typing import Literal

from speccheck.validator.comparison.difference import Difference
from speccheck.validator.evidence.node.changes import Counter
from speccheck.validator.evidence.record import Record

# What two measurements on one healthy machine may differ by; engineering default, that
# of SuperBench as well.
USUAL_SHARE = 0.05
_LIFE = "the board was made"
# How noisy a measurement was: never the same twice.
_NOISE = ("spread", "variation", "p99_seconds", "repeats", "init_seconds")
_RATE = "_per_second"
_ROUNDING = 1e-9
_MOST = 1e300


class Pair(Record):
    """The values of both snapshots, or `NoValue`."""

    a: object
    b: object


class Counted(Record):
    """What became of a counter of one machine."""

    change: Literal["grew", "fell"]
    by: float
    per_hour: float | None
    note: str


def are_same(a: object, b: object) -> bool:
    """Whether they are equal: true is no 1, and what a list does not know is no value.

    A list that knows a value where the other knows none says nothing different.
    """
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(
            _is_unknown(one) or _is_unknown(other) or are_same(one, other)
            for one, other in zip(a, b, strict=True)
        )
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return a == b


def counted(
    pair: Pair, counter: Counter, hours: float | None, *, was_restarted: bool | None
) -> Counted | None:
    """By how much a counter grew; None for what does not count, or backwards."""
    steps = [*_steps(pair)]
    if not steps or (hours is not None and hours < 0):
        return None
    since = f"counts anew: since {counter.since}"
    begins_anew = was_restarted is True and counter.since != _LIFE
    if begins_anew or any(one > other for one, other in steps):
        now = sum(other for _, other in steps)
        before = sum(one for one, _ in steps)
        change: Literal["grew", "fell"] = "grew" if now > before else "fell"
        return Counted(change, now - before, None, since)
    grown = sum(other - one for one, other in steps)
    per_hour = grown / hours if hours is not None and hours > 0 else None
    return Counted("grew", grown, per_hour, "")


def measured(leaf: str, title: str, pair: Pair) -> Difference:
    """Two results of one measurement."""
    name = leaf.rpartition(".")[2]
    steps = [*_steps(pair)]
    if not steps or not (name in _NOISE or name.endswith((_RATE, "seconds"))):
        return Difference("measurements", leaf, title, "changed", *pair)
    shares = [other / one - 1 for one, other in steps if one]
    most = max(shares, key=abs, default=0.0)
    if name in _NOISE or abs(most) <= USUAL_SHARE + _ROUNDING:
        return Difference("varying", leaf, title, "changed", *pair, by=most)
    return Difference("measurements", leaf, title, "changed", *pair, by=most)


def _steps(pair: Pair) -> Iterator[tuple[float, float]]:
    """The numbers of both, of lists one after another; none where any is no number."""
    a, b = pair
    pairs = [(a, b)]
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return
        pairs = [*zip(a, b, strict=True)]
    for one, other in pairs:
        if _is_number(one) and _is_number(other):
            yield float(one), float(other)  # type: ignore[arg-type]


def _is_unknown(element: object) -> bool:
    """Whether an element of a list has no value, or says why it has none."""
    return element is None or isinstance(element, dict)


def _is_number(found: object) -> bool:
    """Whether it is one, and neither NaN nor beyond what a float holds."""
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return is_number and -_MOST < found < _MOST  # type: ignore[operator]
