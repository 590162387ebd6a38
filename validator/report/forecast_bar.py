"""A forecast as a bar: parts of a whole, against what they must fit into."""

from collections.abc import Iterator
from math import isfinite

from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.report.quantities import amount, in_words

# A quantity of one of these names is the sum of those of its unit that stand before it.
TOTALS = ("total", "peak")
_FEWEST_PARTS = 2
_SIGNS = "#=+:*o~%&@"


class Part(Record):
    """One part of a bar: how many of its columns, and the sign that they show."""

    name: str
    columns: int
    sign: str


class Bar(Record):
    """Columns of parts, columns that are left, and the numbers in words.

    is_over: more than the limit, so that the bar is full and says too little.
    """

    parts: tuple[Part, ...]
    free: int
    caption: str
    is_over: bool

    def sign(self, name: str) -> str:
        """The sign of a part, a blank for what is none."""
        return next((part.sign for part in self.parts if part.name == name), " ")


def bar(forecast: Forecast, width: int) -> Bar | None:
    """The bar of a forecast with a whole; None where its parts are not known."""
    whole = _total(forecast)
    parts = [(one.name, _value(one)) for one in _parts(forecast, whole)]
    limit = forecast.limit
    room = 0.0 if limit is None or limit.estimate is None else _value(limit)
    total = sum(value for _, value in parts)
    if whole is not None and whole.estimate is not None:
        total = max(_value(whole), total)
    scale = room or total
    if len(parts) < _FEWEST_PARTS or not isfinite(scale) or scale <= 0:
        return None
    if (whole is None or whole.estimate is None) and not room:
        return None
    drawn = _columns(parts, width / max(scale, total))
    used = sum(part.columns for part in drawn)
    unit = forecast.quantities[0].unit if whole is None else whole.unit
    caption = amount(total, unit)
    if room and limit is not None:
        caption += (
            f" of {amount(room, unit)} {in_words(limit.name)}, {total / room:.0%}"
        )
    return Bar(drawn, max(width - used, 0), caption, bool(room) and total > room)


def _total(forecast: Forecast) -> Quantity | None:
    return next((one for one in forecast.quantities if one.name in TOTALS), None)


def _parts(forecast: Forecast, whole: Quantity | None) -> Iterator[Quantity]:
    """The known quantities that add up: those before the total, or all of the limit."""
    if whole is None and forecast.limit is None:
        return
    unit = whole.unit if whole is not None else getattr(forecast.limit, "unit", "")
    for one in forecast.quantities:
        if one is whole:
            return
        if one.unit == unit and one.estimate is not None and isfinite(_value(one)):
            yield one


def _value(quantity: Quantity) -> float:
    found = quantity.estimate
    if found is None:
        return 0.0
    return found.lower if found.kind == "lower_bound" else found.value


def _columns(parts: list[tuple[str, float]], each: float) -> tuple[Part, ...]:
    """Columns by the running sum, so that rounding never adds up."""
    drawn: list[Part] = []
    reached, column = 0.0, 0
    for index, (name, value) in enumerate(parts):
        reached += value
        upto = round(reached * each)
        sign = _SIGNS[index % len(_SIGNS)]
        drawn.append(Part(name, max(upto - column, 0), sign))
        column = max(upto, column)
    return tuple(drawn)
