"""What the models predict of a plan: a bar where there is a whole, and a table."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.report.forecast_text import (
    FREE,
    LIMIT,
    PERHAPS,
    SIGNS,
    Bar,
    bar,
    is_dark,
    is_none,
    wanted,
)
from speccheck.validator.report.forms.html_text import escaped, folded, row, table
from speccheck.validator.report.wording import best, bounds, in_words

_WIDTH = 1000
_LEAST_NUMBERED = 25
_LATE = 85  # per cent: beyond it the limit is named on its other side
_COLOURS = 6  # as many as the style sheet has
_NAMES = {PERHAPS: "perhaps", FREE: "free"}


def forecasts_html(forecasts: Sequence[Forecast], *, knows_scale: bool) -> str:
    """Each subject of which something is known; at the end what would tell more."""
    dark = [one for one in forecasts if is_dark(one)]
    parts = [_subject(one) for one in forecasts if one not in dark]
    notes = []
    if dark:
        names = ", ".join(in_words(one.subject) for one in dark)
        notes.append(f"No forecast of {names}.")
    more = wanted(forecasts, knows_scale=knows_scale)
    if more and parts:
        notes.append(f"To predict more: {more}.")
    parts += [f'<p class="note">{escaped(note)}</p>\n' for note in notes]
    return "".join(parts)


def _subject(forecast: Forecast) -> str:
    drawn = bar(forecast, _WIDTH)
    known = [one for one in forecast.quantities if one.estimate is not None]
    told = [one for one in known if not is_none(one)]
    signs = drawn.signs if drawn else {}
    shown = [signs[one.name] for one in told if signs.get(one.name, " ") in SIGNS]
    numbers = {sign: at for at, sign in enumerate(shown, start=1)}
    name = in_words(forecast.subject)
    parts = [f"<h3>Forecast: {escaped(name)}</h3>\n"]
    if drawn:
        parts.append(f'<p class="caption">{escaped(_caption(drawn))}</p>\n')
        parts.append(_picture(drawn, name, numbers))
    rows = (_row(one, signs.get(one.name, " "), numbers) for one in told)
    heads = ("quantity", ">best", "range", "how sure", "arithmetic and source")
    parts.append(table(f"Forecast of {name}", heads, rows, name="forecast"))
    none = [in_words(one.name, one.unit) for one in known if is_none(one)]
    if none:
        parts.append(f'<p class="note">none: {escaped(", ".join(none))}</p>\n')
    parts.extend(_lacks(forecast))
    return "".join(parts)


def _row(quantity: Quantity, sign: str, numbers: Mapping[str, int]) -> str:
    found = quantity.estimate
    source = []
    if found is not None:
        valid = f"valid for {found.valid}" if found.valid else ""
        source = [quantity.note, valid, f"source: {found.source}"]
    notes = "".join(f"<p>{escaped(text)}</p>\n" for text in source if text)
    name = f"{_swatch(sign, numbers)} {escaped(in_words(quantity.name, quantity.unit))}"
    return row(
        [
            name.strip(),
            escaped(best(quantity)),
            escaped(bounds(quantity)),
            escaped(in_words(found.kind if found else "")),
            folded("how", notes) if notes else "",
        ],
        numbers=(1,),
    )


def _swatch(sign: str, numbers: Mapping[str, int]) -> str:
    """The colour of a part and its number in the bar."""
    name = _class(sign)
    if not name:
        return ""
    number = numbers.get(sign, "\u2026")
    return f'<span class="swatch {name}">{number}</span>'


def _class(sign: str) -> str:
    if sign in SIGNS:
        return f"part{SIGNS.index(sign) % _COLOURS}"
    return _NAMES.get(sign, "")


def _picture(drawn: Bar, name: str, numbers: Mapping[str, int]) -> str:
    shapes = "".join(_shapes(drawn.cells, numbers))
    label = escaped(f"{name}: {_caption(drawn)}")
    return f'<svg class="bar" role="img" aria-label="{label}">\n{shapes}</svg>\n'


def _caption(drawn: Bar) -> str:
    """The caption without the sign of the limit, which is drawn and named."""
    return drawn.caption.replace(f" ({LIMIT})", "")


def _shapes(cells: str, numbers: Mapping[str, int]) -> Iterator[str]:
    """Parts with their numbers where these fit; the limit above all others."""
    at = 0
    for sign, same in groupby(cells.replace(LIMIT, _sign_around(cells))):
        width = sum(1 for _ in same)
        name = _class(sign)
        if name and sign != FREE:
            yield f'<rect class="{name}" x="{at / 10}%" width="{width / 10}%"/>\n'
            if sign in numbers and width >= _LEAST_NUMBERED:
                middle = (at + width / 2) / 10
                yield f'<text x="{middle}%" y="62%">{numbers[sign]}</text>\n'
        at += width
    if LIMIT in cells:
        x = cells.index(LIMIT) / 10
        is_late = x > _LATE
        side = ' class="limit before"' if is_late else ' class="limit"'
        yield f'<line class="limit" x1="{x}%" x2="{x}%" y2="100%"/>\n'
        shift = "-6" if is_late else "6"
        yield f'<text{side} x="{x}%" dx="{shift}" y="62%">limit</text>\n'


def _sign_around(cells: str) -> str:
    """The sign of the part that the limit cuts."""
    at = cells.find(LIMIT)
    return cells[at - 1] if at > 0 else cells[at + 1 : at + 2] or FREE


def _lacks(forecast: Forecast) -> Iterator[str]:
    """What is not known: by name, with what is missing or the reason."""
    groups: dict[str, list[str]] = {}
    for one in forecast.quantities:
        if one.estimate is None:
            reason = f"needs {', '.join(one.missing)}" if one.missing else one.note
            groups.setdefault(reason, []).append(in_words(one.name, one.unit))
    for reason, names in groups.items():
        text = f"not known: {', '.join(names)}" + (f"; {reason}" if reason else "")
        yield f'<p class="note">{escaped(text)}</p>\n'
