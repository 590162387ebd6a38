"""A forecast as a bar: parts of a whole, against what they must fit into."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.report.quantities import amount, best, in_words

_FEWEST_PARTS = 2
SIGNS = "#=+:*o~%&@"
FREE, PERHAPS, LIMIT = ".", "-", "|"


class Bar(Record):
    """One sign a column, the sign of each quantity, and the numbers in words.

    cells: parts by their signs; PERHAPS up to the upper bound of the whole; FREE up to
        the limit; LIMIT where the parts reach beyond it.
    """

    cells: str
    signs: Mapping[str, str]
    caption: str


def bar(forecast: Forecast, width: int) -> Bar | None:
    """The bar of a forecast with a whole; None where its parts are not known."""
    whole = forecast.sum()
    if whole is None or whole.estimate is None:
        return None
    is_bound = whole.estimate.kind == "lower_bound"
    parts = [
        (one.name, size)
        for one in forecast.addends()
        if one.estimate and isfinite(size := _size(one, is_bound=is_bound))
    ]
    room = 0.0 if forecast.limit is None else _size(forecast.limit, is_bound=False)
    total = max(_size(whole, is_bound=is_bound), sum(size for _, size in parts))
    scale = max(room, total)
    if len(parts) < _FEWEST_PARTS or not isfinite(scale) or scale <= 0:
        return None
    signs = {name: SIGNS[index % len(SIGNS)] for index, (name, _) in enumerate(parts)}
    cells = "".join(_cells(parts, signs, width / scale))
    if room:
        upper = round(min(whole.estimate.upper, scale) * width / scale)
        cells = cells.ljust(upper, PERHAPS).ljust(width, FREE)
        signs[whole.name] = PERHAPS if PERHAPS in cells else " "
    if total > room > 0:
        at = min(round(room * width / scale), width - 1)
        cells = cells[:at] + LIMIT + cells[at + 1 :]
    return Bar(cells, signs, _caption(forecast, total, room))


def _caption(forecast: Forecast, total: float, room: float) -> str:
    """The whole against the limit, or without the parts that are not known."""
    whole, limit = forecast.sum(), forecast.limit
    if whole is None:
        return ""
    if limit is None or not room:
        lacking = [one for one in forecast.addends() if one.estimate is None]
        names = ", ".join(in_words(one.name, one.unit) for one in lacking)
        return best(whole) + (f" without {names}" if names else "")
    held = f"{amount(room, limit.unit)} {in_words(limit.name, limit.unit)}"
    mark = f" ({LIMIT})" if total > room else ""
    return f"{best(whole, room)} of {held}{mark}, {total / room:,.0%}"


def _size(quantity: Quantity, *, is_bound: bool) -> float:
    """The value; of what is only bounded, and beside a bounded whole, the lower end."""
    found = quantity.estimate
    if found is None:
        return 0.0
    return found.lower if is_bound or found.kind == "lower_bound" else found.value


def _cells(
    parts: Sequence[tuple[str, float]], signs: Mapping[str, str], each: float
) -> Iterator[str]:
    """Columns by the running sum, so that rounding never adds up."""
    reached, column = 0.0, 0
    for name, size in parts:
        reached += size
        upto = round(reached * each)
        yield signs[name] * (upto - column)
        column = max(upto, column)
