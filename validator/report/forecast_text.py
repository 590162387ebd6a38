"""What the models predict of a plan: a bar where there is a whole, and a row each."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite

from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.unknowns import ways_to_know
from speccheck.validator.report.wording import amount, best, bounds, in_words

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
    """Return the bar of a forecast with a whole; None where its parts are not known."""
    whole = forecast.sum()
    if whole is None or whole.estimate is None:
        return None
    is_bound = whole.estimate.kind == "lower_bound"
    parts = [
        (addend.name, size)
        for addend in forecast.addends()
        if addend.estimate and isfinite(size := _size(addend, is_bound=is_bound))
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
    """Return the whole against the limit, or without the parts that are not known."""
    whole, limit = forecast.sum(), forecast.limit
    if whole is None:
        return ""
    if limit is None or not room:
        lacking = [addend for addend in forecast.addends() if addend.estimate is None]
        names = ", ".join(
            in_words(quantity.name, quantity.unit) for quantity in lacking
        )
        return best(whole) + (f" without {names}" if names else "")
    held = f"{amount(room, limit.unit)} {in_words(limit.name, limit.unit)}"
    mark = f" ({LIMIT})" if total > room else ""
    return f"{best(whole, room)} of {held}{mark}, {total / room:,.0%}"


def _size(quantity: Quantity, *, is_bound: bool) -> float:
    """Return the value.

    Of what is only bounded, beside a bounded whole, the lower end.
    """
    estimate = quantity.estimate
    if estimate is None:
        return 0.0
    return (
        estimate.lower if is_bound or estimate.kind == "lower_bound" else estimate.value
    )


def _cells(
    parts: Sequence[tuple[str, float]], signs: Mapping[str, str], each: float
) -> Iterator[str]:
    """Yield the columns by the running sum, so that rounding never adds up."""
    reached, column = 0.0, 0
    for name, size in parts:
        reached += size
        upto = round(reached * each)
        yield signs[name] * (upto - column)
        column = max(upto, column)


_COLOURS = ("cyan", "green", "magenta", "blue", "yellow", "white")
_OTHERS = {FREE: "dim", PERHAPS: "yellow", LIMIT: "bold white on red"}


def _sign_style(sign: str) -> str:
    if sign in _OTHERS:
        return _OTHERS[sign]
    if sign in SIGNS:
        return f"black on {_COLOURS[SIGNS.index(sign) % len(_COLOURS)]}"
    return ""


_MOST_COLUMNS = 100
_NEEDS = "needs "
_FROM_FILES = ("model.", "parallelism.")


def forecast_lines(
    forecasts: Sequence[Forecast], style: Style, *, knows_scale: bool, full: bool
) -> Iterator[str]:
    """Yield each subject of which something is known, then what would tell more."""
    dark = [forecast for forecast in forecasts if not full and is_dark(forecast)]
    for forecast in forecasts:
        if forecast not in dark:
            yield from _subject(forecast, style, full=full)
    if dark:
        names = ", ".join(in_words(forecast.subject) for forecast in dark)
        text = f"no forecast of {names} (--full says what is missing)"
        yield "\n" + wrap(text, style.width, "")
    more = wanted(forecasts, knows_scale=knows_scale)
    if more and len(dark) < len(forecasts):
        yield wrap(f"to predict more: {more}", style.width, "")


def is_dark(forecast: Forecast) -> bool:
    """Return whether nothing is known of a subject but what it has none of."""
    return all(
        quantity.estimate is None or is_none(quantity)
        for quantity in forecast.quantities
    )


def _subject(forecast: Forecast, style: Style, *, full: bool) -> Iterator[str]:
    drawn = bar(forecast, min(style.width, _MOST_COLUMNS) - 4)
    head = style.paint(f"forecast: {in_words(forecast.subject)}", "bold")
    yield f"\n{head}" + (f"  {printable(drawn.caption)}" if drawn else "")
    if drawn:
        yield f"  [{painted(drawn.cells, style)}]"
    signs = drawn.signs if drawn else {}
    known = [
        quantity for quantity in forecast.quantities if quantity.estimate is not None
    ]
    none = [
        quantity
        for quantity in known
        if is_none(quantity) and quantity.name not in signs
    ]
    words = [quantity for quantity in known if quantity not in none]
    yield from _table(words, signs, style, full=full)
    if none:
        names = ", ".join(in_words(quantity.name, quantity.unit) for quantity in none)
        yield wrap(f"none: {names}", style.width, "    ")
    yield from _lacks(forecast, style, full=full)


def is_none(quantity: Quantity) -> bool:
    """Return whether it is known that there is none of it."""
    estimate = quantity.estimate
    return estimate is not None and estimate.kind == "exact" and not any(estimate[:3])


def _table(
    quantities: Sequence[Quantity],
    signs: Mapping[str, str],
    style: Style,
    *,
    full: bool,
) -> Iterator[str]:
    """Yield a row each: sign in the bar, name, value, bounds, how sure."""
    rows = [
        (
            in_words(quantity.name, quantity.unit),
            best(quantity),
            bounds(quantity),
            in_words(quantity.estimate.kind if quantity.estimate else ""),
        )
        for quantity in quantities
    ]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    gap = "  " if sum(widths) + 10 <= style.width else " "
    for quantity, row in zip(quantities, rows, strict=True):
        *cells, kind = map(str.ljust, row, widths)
        sign = painted(signs.get(quantity.name, " "), style)
        words = style.paint(kind.rstrip(), "dim")
        yield gap.join([f"  {sign} {cells[0]}", *cells[1:], words]).rstrip()
        if full:
            yield from _notes(quantity, style)


def painted(signs: str, style: Style) -> str:
    """Return a bar with each sign on its colour; without colour, as it is."""
    if not style.colour or not signs.strip():
        return signs
    # rich takes longer to import than a plan to show.
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawn = Text()
    for sign, same in groupby(signs):
        drawn.append("".join(same), _sign_style(sign))
    console = Console(force_terminal=True, color_system="standard")
    with console.capture() as captured:
        console.print(drawn, end="", soft_wrap=True)
    return captured.get()


def _notes(quantity: Quantity, style: Style) -> Iterator[str]:
    estimate = quantity.estimate
    if estimate is None:
        return
    valid = f"valid for {estimate.valid}" if estimate.valid else ""
    for text in (quantity.note, valid, f"source: {estimate.source}"):
        if text:
            yield wrap(printable(text), style.width, " " * 8)


def _lacks(forecast: Forecast, style: Style, *, full: bool) -> Iterator[str]:
    """Yield what is unknown: by name where leaves are missing, else with the reason."""
    groups: dict[str, list[str]] = {}
    for quantity in forecast.quantities:
        if quantity.estimate is None:
            reason = quantity.note
            if quantity.missing:
                note = f" ({quantity.note})" if quantity.note else ""
                reason = f"{_NEEDS}{', '.join(quantity.missing)}{note}" if full else ""
            groups.setdefault(reason, []).append(in_words(quantity.name, quantity.unit))
    for reason, names in groups.items():
        text = f"not known: {', '.join(names)}"
        text += f"; {reason}" if reason else ""
        yield wrap(printable(text), style.width, "    ")


def wanted(forecasts: Sequence[Forecast], *, knows_scale: bool) -> str:
    """Return options and files that would give the missing leaves, then the leaves."""
    ways: dict[str, None] = {}
    leaves: dict[str, None] = {}
    for forecast in forecasts:
        for quantity in (*forecast.quantities, forecast.limit):
            for name in quantity.missing if quantity is not None else ():
                way = ways_to_know((name,), "", knows_scale=knows_scale)
                if way.startswith("add ") or name.startswith(_FROM_FILES):
                    ways[way] = None
                else:
                    leaves[name] = None
    words = [way for way in ways if not any(_is_part(way, other) for other in ways)]
    if leaves:
        words.append(f"state {', '.join(leaves)} in config.yaml")
    return "; ".join(words)


def _is_part(way: str, other: str) -> bool:
    """Return whether another way has all words of this one and more."""
    return set(way.split()) < set(other.split())
