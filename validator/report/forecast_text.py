"""What the models predict of a plan: a bar where there is a whole, and a row each."""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.report.forecast_bar import bar
from speccheck.validator.report.quantities import best, bounds, in_words
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.unknowns import ways_to_know

_MOST_COLUMNS = 100
_NEEDS = "needs "
_TOLD_BY_FILES = ("model.", "parallelism.")


def forecast_lines(
    forecasts: Sequence[Forecast], style: Style, *, knows_scale: bool, full: bool
) -> Iterator[str]:
    """Each subject of which something is known; at the end what would tell more."""
    dark = [one for one in forecasts if not full and is_dark(one)]
    for forecast in forecasts:
        if forecast not in dark:
            yield from _subject(forecast, style, full=full)
    if dark:
        names = ", ".join(in_words(one.subject) for one in dark)
        text = f"no forecast of {names} (--full says what is missing)"
        yield "\n" + wrap(text, style.width, "")
    more = wanted(forecasts, knows_scale=knows_scale)
    if more and len(dark) < len(forecasts):
        yield wrap(f"to predict more: {more}", style.width, "")


def is_dark(forecast: Forecast) -> bool:
    """Whether nothing is known of a subject but what it has none of."""
    return all(one.estimate is None or is_none(one) for one in forecast.quantities)


def _subject(forecast: Forecast, style: Style, *, full: bool) -> Iterator[str]:
    drawn = bar(forecast, min(style.width, _MOST_COLUMNS) - 4)
    head = style.paint(f"forecast: {in_words(forecast.subject)}", "bold")
    yield f"\n{head}" + (f"  {printable(drawn.caption)}" if drawn else "")
    if drawn:
        yield f"  [{painted(drawn.cells, style)}]"
    signs = drawn.signs if drawn else {}
    known = [one for one in forecast.quantities if one.estimate is not None]
    none = [one for one in known if is_none(one) and one.name not in signs]
    told = [one for one in known if one not in none]
    yield from _table(told, signs, style, full=full)
    if none:
        names = ", ".join(in_words(one.name, one.unit) for one in none)
        yield wrap(f"none: {names}", style.width, "    ")
    yield from _lacks(forecast, style, full=full)


def is_none(quantity: Quantity) -> bool:
    """Whether it is known that there is none of it."""
    found = quantity.estimate
    return found is not None and found.kind == "exact" and not any(found[:3])


def _table(
    quantities: Sequence[Quantity],
    signs: Mapping[str, str],
    style: Style,
    *,
    full: bool,
) -> Iterator[str]:
    """A row each: sign in the bar, name, value, bounds, how sure."""
    rows = [
        (
            in_words(one.name, one.unit),
            best(one),
            bounds(one),
            in_words(one.estimate.kind if one.estimate else ""),
        )
        for one in quantities
    ]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    gap = "  " if sum(widths) + 10 <= style.width else " "
    for one, row in zip(quantities, rows, strict=True):
        *cells, kind = map(str.ljust, row, widths)
        sign = painted(signs.get(one.name, " "), style)
        told = style.paint(kind.rstrip(), "dim")
        yield gap.join([f"  {sign} {cells[0]}", *cells[1:], told]).rstrip()
        if full:
            yield from _notes(one, style)


def painted(signs: str, style: Style) -> str:
    """In colour on a terminal, as they are elsewhere."""
    if not style.colour or not signs.strip():
        return signs
    # rich takes longer to import than a plan to show.
    from speccheck.validator.report.forecast_colour import coloured  # noqa: PLC0415

    return coloured(signs)


def _notes(quantity: Quantity, style: Style) -> Iterator[str]:
    found = quantity.estimate
    if found is None:
        return
    valid = f"valid for {found.valid}" if found.valid else ""
    for text in (quantity.note, valid, f"source: {found.source}"):
        if text:
            yield wrap(printable(text), style.width, " " * 8)


def _lacks(forecast: Forecast, style: Style, *, full: bool) -> Iterator[str]:
    """What is not known: by name where leaves are missing, else with the reason."""
    groups: dict[str, list[str]] = {}
    for one in forecast.quantities:
        if one.estimate is None:
            reason = one.note
            if one.missing:
                note = f" ({one.note})" if one.note else ""
                reason = f"{_NEEDS}{', '.join(one.missing)}{note}" if full else ""
            groups.setdefault(reason, []).append(in_words(one.name, one.unit))
    for reason, names in groups.items():
        text = f"not known: {', '.join(names)}"
        text += f"; {reason}" if reason else ""
        yield wrap(printable(text), style.width, "    ")


def wanted(forecasts: Sequence[Forecast], *, knows_scale: bool) -> str:
    """The options and files that would give the missing leaves, then the leaves."""
    ways: dict[str, None] = {}
    leaves: dict[str, None] = {}
    for forecast in forecasts:
        for one in (*forecast.quantities, forecast.limit):
            for name in one.missing if one is not None else ():
                way = ways_to_know((name,), "", knows_scale=knows_scale)
                if way.startswith("add ") or name.startswith(_TOLD_BY_FILES):
                    ways[way] = None
                else:
                    leaves[name] = None
    told = [one for one in ways if not any(_is_part(one, other) for other in ways)]
    if leaves:
        told.append(f"state {', '.join(leaves)} in config.yaml")
    return "; ".join(told)


def _is_part(way: str, other: str) -> bool:
    """Whether another way has all words of this one and more."""
    return set(way.split()) < set(other.split())
