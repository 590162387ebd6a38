"""What the models predict of a plan: a bar where there is a whole, and a row each."""

from collections.abc import Iterator, Sequence

from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.report.forecast_bar import Bar, bar
from speccheck.validator.report.quantities import best, bounds, confidence, in_words
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.unknowns import ways_to_know

BAR_WIDTH = 40
_NAME, _BEST, _BOUNDS = 22, 20, 24


def forecast_lines(
    forecasts: Sequence[Forecast], style: Style, *, knows_scale: bool, full: bool
) -> Iterator[str]:
    """Every subject with what is known of it; what would tell the rest, at the end."""
    for forecast in forecasts:
        yield f"\n{style.paint(f'forecast: {in_words(forecast.subject)}', 'bold')}"
        drawn = bar(forecast, BAR_WIDTH)
        if drawn is not None:
            yield f"  {_drawn(drawn, style)} {printable(drawn.caption)}"
        for one in forecast.quantities:
            if one.estimate is not None:
                sign = drawn.sign(one.name) if drawn else " "
                yield from _row(one, sign, style, full=full)
        yield from _lacks(forecast, style)
    wanted = _wanted(forecasts, knows_scale=knows_scale)
    if wanted:
        yield wrap(f"to predict more: {wanted}", style.width, "")


def _drawn(drawn: Bar, style: Style) -> str:
    """In colour on a terminal, by signs elsewhere."""
    if style.colour:
        # rich takes longer to import than a plan to show.
        from speccheck.validator.report.forecast_colour import (  # noqa: PLC0415
            coloured_bar,
        )

        return coloured_bar(drawn)
    signs = "".join(part.sign * part.columns for part in drawn.parts)
    return f"[{signs}{'.' * drawn.free}]"


def _row(quantity: Quantity, sign: str, style: Style, *, full: bool) -> Iterator[str]:
    found = quantity.estimate
    if found is None:
        return
    name = f"{sign} {in_words(quantity.name)}"
    numbers = f"{best(quantity):<{_BEST}} {bounds(quantity):<{_BOUNDS}}"
    yield f"  {name:<{_NAME}} {numbers} {found.kind.replace('_', ' ')}".rstrip()
    if full:
        for text in (quantity.note, confidence(found), found.source):
            if text:
                yield wrap(printable(text), style.width, " " * 6)


def _lacks(forecast: Forecast, style: Style) -> Iterator[str]:
    """The quantities that are not known, by the leaves or the reason that they lack."""
    groups: dict[str, list[str]] = {}
    for one in forecast.quantities:
        if one.estimate is None:
            reason = f"needs {', '.join(one.missing)}" if one.missing else one.note
            groups.setdefault(reason, []).append(in_words(one.name))
    for reason, names in groups.items():
        text = f"{', '.join(names)}: not known"
        text += f", {reason}" if reason else ""
        yield wrap(printable(text), style.width, "    ")


def _wanted(forecasts: Sequence[Forecast], *, knows_scale: bool) -> str:
    """The options and files that would give the missing leaves."""
    ways: dict[str, None] = {}
    for forecast in forecasts:
        for one in (*forecast.quantities, forecast.limit):
            for name in one.missing if one is not None else ():
                way = ways_to_know((name,), "", knows_scale=knows_scale)
                ways[way or f"needs {name}"] = None
    return "; ".join(ways)
