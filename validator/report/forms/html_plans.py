"""What is known of each plan: its values, what they predict, what was measured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.measurements.measured import MeasuredCurve, Measurements
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.document import (
    Code,
    Figure,
    Fold,
    Group,
    Heading,
    Name,
    Paragraph,
    Parts,
    Table,
    Word,
    joined,
    note,
)
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
from speccheck.validator.report.forms.html_plot import curve_html
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.measured_text import (
    conditions,
    curve_lines,
    measured_lines,
    path_lines,
    rate_lines,
)
from speccheck.validator.report.plan_text import places_of, short_names
from speccheck.validator.report.style import Style, counted
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.wording import best, bounds, in_words, written
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.plan_dump import PlanDump

_WIDE = Style(unicode=True, width=10**6)
_MOST_LISTED = 300
_MOST_CURVES = 24
_GIGA = 1e9
_BAR_WIDTH = 1000
_LEAST_NUMBERED = 25
_LATE = 85  # per cent: beyond it the limit is named on its other side
_COLOURS = 6  # as many as the style sheet has
_NAMES = {PERHAPS: "perhaps", FREE: "free"}


def plan_parts(plans: Sequence[JudgedPlan]) -> Iterator[Parts]:
    """Yield a line for each plan where there are several, then the values of each."""
    many = len(plans) > 1
    if many:
        yield from _overview(plans)
    for plan in plans:
        if plan.shown is not None:
            body = _plan(plan, plan.shown)
            yield Fold(Code(_name(plan)), body, "plan") if many else body
    kept = sum(plan.shown is not None for plan in plans)
    if kept < len(plans):
        rest = counted(len(plans) - kept, "more plan")
        how = Code("speccheck plan FILE")
        yield note(f"The values of {rest} are not shown: ", how, " shows them.")


def _overview(plans: Sequence[JudgedPlan]) -> Iterator[Parts]:
    """Yield the plans, those with most errors first."""
    rows: list[tuple[int, int, int, Sequence[Parts]]] = []
    for plan in plans:
        summary = summarize((plan,))
        failed, unknown = summary.failed, summary.clauses["must"]["unknown"]
        counts = (failed["error"], failed["warning"], unknown)
        world = plan.plan.value("cluster.world_size").value
        cells = (
            Code(_name(plan)),
            " + ".join(dict.fromkeys(file.format for file in plan.files)),
            "" if world is None else f"{world:,}",
            *(f"{count:,}" if count else "" for count in counts),
        )
        rows.append((-counts[0], -counts[1], len(rows), cells))
    rows.sort(key=lambda row: row[:3])
    heads = ("plan", "format", ">GPUs", ">errors", ">warnings", ">required, not run")
    yield Table("Plans", heads, [cells for *_, cells in rows[:_MOST_LISTED]], "long")
    if len(rows) > _MOST_LISTED:
        yield note(f"and {len(rows) - _MOST_LISTED:,} more plans")


def _name(plan: JudgedPlan) -> str:
    return ", ".join(file.path for file in plan.files)


def _plan(plan: JudgedPlan, shown: PlanDump) -> Iterator[Parts]:
    yield note(", ".join(f"{file.path} ({file.format})" for file in plan.files))
    if plan.grouping:
        yield note(f"one plan: {'; '.join(plan.grouping)}")
    yield from _values(shown, short_names(shown))
    knows_scale = plan.plan.value("cluster.world_size").value is not None
    yield from _forecasts(shown.forecasts, knows_scale=knows_scale)


def _values(shown: PlanDump, short: Mapping[str, str]) -> Iterator[Parts]:
    """Yield all leaves of which something is known, by the sections of the plan."""
    rows: list[Sequence[Parts] | Group] = []
    section = ""
    silent: list[str] = []
    for shown_leaf in shown.leaves:
        leaf = shown_leaf.leaf
        if leaf.status == "unknown" and not leaf.note:
            silent.append(leaf.name)
            continue
        here, _, name = leaf.name.partition(".")
        if here != section:
            section = here
            rows.append(Group(here))
        rows.append(_leaf(name, leaf, shown_leaf.locations, short))
    if shown.variables:
        rows.append(Group("environment"))
        for variable in shown.variables:
            value = "(not shown)" if variable.value is None else variable.value
            at = _at([variable.location], short)
            rows.append((Name(variable.name), Code(value), "stated", at))
    if rows:
        heads = ("value", "", "status", "from")
        yield Table("Values of the plan", heads, rows, "values")
    if silent:
        title = f"{len(silent)} of {counted(len(shown.leaves), 'value')} not stated"
        yield Fold(title, note(", ".join(silent)))


def _leaf(
    name: str,
    leaf: Value[object],
    locations: Sequence[Location],
    short: Mapping[str, str],
) -> Sequence[Parts]:
    places: list[Parts] = [_at(locations, short)]
    if leaf.status == "conflict":
        pairs = zip(leaf.alternatives, locations, strict=False)
        stated = [("; ", Code(text), " at ", _at([at], short)) for text, at in pairs]
        places = [part for parts in stated for part in parts][1:]
    if leaf.note:
        places += [" ", Word(leaf.note, "note")]
    value = "" if leaf.value is None else written(leaf.value)
    status = Word(leaf.status, f"status {leaf.status}")
    return Name(name), Code(value), status, places


def _at(locations: Sequence[Location], short: Mapping[str, str]) -> Parts:
    return joined(map(Code, places_of(locations, short)))


# --- Forecasts ------------------------------------------------------------------------


def _forecasts(forecasts: Sequence[Forecast], *, knows_scale: bool) -> Iterator[Parts]:
    """Yield each subject of which something is known, then what would tell more."""
    dark = [forecast for forecast in forecasts if is_dark(forecast)]
    lit = [forecast for forecast in forecasts if forecast not in dark]
    for forecast in lit:
        yield from _subject(forecast)
    if dark:
        names = ", ".join(in_words(forecast.subject) for forecast in dark)
        yield note(f"No forecast of {names}.")
    more = wanted(forecasts, knows_scale=knows_scale)
    if more and lit:
        yield note(f"To predict more: {more}.")


def _subject(forecast: Forecast) -> Iterator[Parts]:
    drawn = bar(forecast, _BAR_WIDTH)
    known = [
        quantity for quantity in forecast.quantities if quantity.estimate is not None
    ]
    shown = [quantity for quantity in known if not is_none(quantity)]
    signs = drawn.signs if drawn else {}
    in_bar = [
        signs[quantity.name]
        for quantity in shown
        if signs.get(quantity.name, " ") in SIGNS
    ]
    numbers = {sign: at for at, sign in enumerate(in_bar, start=1)}
    name = in_words(forecast.subject)
    yield Heading(3, f"Forecast: {name}")
    if drawn:
        yield Paragraph(_caption(drawn), "caption")
        yield _picture(drawn, name, numbers)
    rows = [
        _quantity(quantity, signs.get(quantity.name, " "), numbers)
        for quantity in shown
    ]
    heads = ("quantity", ">best", "range", "how sure", "arithmetic and source")
    yield Table(f"Forecast of {name}", heads, rows, "forecast")
    none = [
        in_words(quantity.name, quantity.unit)
        for quantity in known
        if is_none(quantity)
    ]
    if none:
        yield note(f"none: {', '.join(none)}")
    # What is not known: by name, with what is missing or the reason.
    groups: dict[str, list[str]] = {}
    for quantity in forecast.quantities:
        if quantity.estimate is None:
            reason = (
                f"needs {', '.join(quantity.missing)}"
                if quantity.missing
                else quantity.note
            )
            groups.setdefault(reason, []).append(in_words(quantity.name, quantity.unit))
    for reason, names in groups.items():
        yield note(f"not known: {', '.join(names)}{'; ' if reason else ''}{reason}")


def _quantity(
    quantity: Quantity, sign: str, numbers: Mapping[str, int]
) -> Sequence[Parts]:
    estimate = quantity.estimate
    source = []
    if estimate is not None:
        valid = f"valid for {estimate.valid}" if estimate.valid else ""
        source = [quantity.note, valid, f"source: {estimate.source}"]
    notes = [Paragraph(text) for text in source if text]
    name = in_words(quantity.name, quantity.unit)
    colour = _class(sign)
    swatch = Word(str(numbers.get(sign, "\u2026")), f"swatch {colour}")
    return (
        (swatch, f" {name}") if colour else name,
        best(quantity),
        bounds(quantity),
        in_words(estimate.kind if estimate else ""),
        Fold("how", notes) if notes else "",
    )


def _class(sign: str) -> str:
    if sign in SIGNS:
        return f"part{SIGNS.index(sign) % _COLOURS}"
    return _NAMES.get(sign, "")


def _caption(drawn: Bar) -> str:
    """Return the caption without the sign of the limit, which is drawn and named."""
    return drawn.caption.replace(f" ({LIMIT})", "")


def _picture(drawn: Bar, name: str, numbers: Mapping[str, int]) -> Figure:
    shapes = "".join(_shapes(drawn.cells, numbers))
    label = escaped(f"{name}: {_caption(drawn)}")
    return Figure(
        f'<svg class="bar" role="img" aria-label="{label}">\n{shapes}</svg>\n'
    )


def _shapes(cells: str, numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield parts with their numbers where these fit; the limit above all others."""
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
    """Return the sign of the part that the limit cuts."""
    at = cells.find(LIMIT)
    return cells[at - 1] if at > 0 else cells[at + 1 : at + 2] or FREE


# --- What was measured under load -----------------------------------------------------


def measured_parts(measureds: Sequence[Measurements]) -> Iterator[Parts]:
    """Yield the curves with what they are held to, rates and paths, if measured."""
    curves = [curve for each in measureds for curve in each.curves]
    rates = [rate for each in measureds for rate in each.rates]
    # A curve says by itself which way its bytes took.
    paths = [path for each in measureds if not each.curves for path in each.paths]
    if len(curves) > _MOST_CURVES:
        yield from _lines(measured_lines(curves, _WIDE, full=False))
    for number, curve in enumerate(curves[:_MOST_CURVES]):
        yield from _curve(curve, number)
    yield from _lines(rate_lines(rates, _WIDE, full=True))
    yield from _lines(path_lines(paths, _WIDE, full=True))


def _lines(lines: Iterable[str]) -> Iterator[Paragraph]:
    for line in lines:
        yield Paragraph(line.strip())


def _curve(curve: MeasuredCurve, number: int) -> Iterator[Parts]:
    words = (curve.collective or "collective", *conditions(curve))
    yield Heading(3, f" {_WIDE.dot} ".join(words))
    yield Figure(curve_html(curve, number))
    yield from _lines(curve_lines(curve, _WIDE, draws=False))
    if curve.curve.points:
        names = ("bus bandwidth, GB/s", "ceiling", "warning", "failure below")
        heads = ("size", *(f">{name}" for name in names))
        table = Table("Measured sizes", heads, list(_sizes(curve)))
        yield Fold(f"{len(curve.curve.points)} sizes", table)


def _sizes(curve: MeasuredCurve) -> Iterator[Sequence[str]]:
    known = {bound.size_bytes: bound for bound in curve.held_to.bounds}
    for point in curve.curve.points:
        bound = known.get(point.size_bytes)
        held = (bound.ceiling, bound.warn_below, bound.fail_below) if bound else ()
        cells = [_rate(rate) for rate in held] or ["", "", ""]
        size = shown_bytes(point.size_bytes)
        yield size, _rate(point.bus_bytes_per_second), *cells


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate / _GIGA:.4g}"
