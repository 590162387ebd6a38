"""What the text report says of measured curves: a few lines for each."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from speccheck.validator.measurements.measured import (
    MeasuredCurve,
    MeasuredPath,
    MeasuredRates,
    PlacedCurve,
)
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.style import (
    Style,
    counted,
    facts_on_lines,
    printable,
    wrap,
)
from speccheck.validator.report.wording import amount

_MOST_ALIKE = 3  # more sets of hosts are told in one block
_MOST_CURVES = 6  # more fold away: a plan of rounds has hundreds
_BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_INDENT = "    "
_MOST_RATES = 8
_UNITS = {
    "bytes_per_second": ("GB/s", 1e9),
    "bits_per_second": ("Gb/s", 1e9),
    "flops_per_second": ("TFLOPS", 1e12),
}


def measured_lines(
    curves: Sequence[MeasuredCurve], style: Style, *, full: bool
) -> Iterator[str]:
    """Yield the lines of all curves, sets of nodes that took turns together."""
    groups: dict[tuple[object, ...], list[MeasuredCurve]] = {}
    for number, curve in enumerate(curves):
        same = (curve.collective, curve.ranks, curve.nodes, curve.gpu, curve.tool)
        groups.setdefault((number,) if full else same, []).append(curve)
    words = 0
    for alike in groups.values():
        if len(alike) > _MOST_ALIKE:
            words += len(alike)
            yield from _sets_lines(alike, style)
            continue
        for measured_curve in alike if full else alike[: max(0, _MOST_CURVES - words)]:
            words += 1
            yield from _curve_lines(measured_curve, style)
    if words < len(curves):
        more = counted(len(curves) - words, "more measured curve")
        yield f"  {more} (--full lists them)"


def path_lines(
    paths: Sequence[MeasuredPath], style: Style, *, full: bool
) -> Iterator[str]:
    """Yield the communicators of the log of NCCL, and which way their bytes took."""
    shown = paths if full else paths[:_MOST_CURVES]
    for measured_path in shown:
        number = counted(measured_path.communicators, "communicator")
        facts = [
            style.paint(number, "bold"),
            *_size(measured_path.ranks, measured_path.nodes),
        ]
        facts += (
            [f"NCCL {printable(measured_path.nccl_version)}"]
            if measured_path.nccl_version
            else []
        )
        facts += (
            [f"network {printable(measured_path.network)}"]
            if measured_path.network
            else []
        )
        yield facts_on_lines(facts, style, "  ")
        for text in measured_path.words:
            yield wrap(printable(text), style.width, _INDENT)
    if len(shown) < len(paths):
        more = counted(len(paths) - len(shown), "more kind")
        yield f"  {more} of communicators (--full lists them)"


def rate_lines(
    rates: Sequence[MeasuredRates], style: Style, *, full: bool
) -> Iterator[str]:
    """Yield a line for each kind of copy, product or transfer."""
    shown = rates if full else rates[:_MOST_RATES]
    for measured_rates in shown:
        unit, divisor = _UNITS[measured_rates.unit]
        least, middle, most = (
            f"{rate / divisor:.4g}"
            for rate in (
                measured_rates.least,
                measured_rates.median,
                measured_rates.most,
            )
        )
        title = style.paint(printable(measured_rates.title), "bold")
        if measured_rates.parts == 1:
            yield f"  {title}: {least} {unit} ({printable(measured_rates.slowest)})"
            continue
        text = (
            f"{title}: {least} to {most} {unit}, median {middle}; "
            f"least {printable(measured_rates.slowest)} of {measured_rates.parts}"
        )
        yield wrap(text, style.width, "  ")
    if len(shown) < len(rates):
        more = counted(len(rates) - len(shown), "more kind")
        yield f"  {more} of measurement (--full lists them)"


def _sets_lines(sets: Sequence[MeasuredCurve], style: Style) -> Iterator[str]:
    """Yield the sets of hosts that measured the same: how far apart they are."""
    head = style.paint(sets[0].collective or "collective", "bold")
    number = f"{len(sets):,} sets of hosts"
    yield facts_on_lines((head, *conditions(sets[0]), number), style, "  ")
    peaks = [set_.curve.peak for set_ in sets]
    rates = sorted(peak.bus_bytes_per_second for peak in peaks if peak is not None)
    if rates:
        span = f"{_rate(rates[0])} to {_rate(rates[-1])}"
        yield f"{_INDENT}peaks of {span}, median {_rate(median(rates))}"
    texts = dict.fromkeys(
        text for set_ in sets for text in (set_.held_to.basis, set_.path) if text
    )
    for text in [*texts][:_MOST_ALIKE]:
        yield wrap(text, style.width, _INDENT)
    yield f"{_INDENT}speccheck bench judge compares them with each other"


def _curve_lines(measured_curve: MeasuredCurve, style: Style) -> Iterator[str]:
    head = style.paint(measured_curve.collective or "collective", "bold")
    yield facts_on_lines((head, *conditions(measured_curve)), style, "  ")
    yield from curve_lines(measured_curve, style, draws=style.unicode)


def curve_lines(
    measured_curve: MeasuredCurve, style: Style, *, draws: bool
) -> Iterator[str]:
    """Yield what a curve comes to, and its bounds; draws: with a line of bars."""
    points = measured_curve.curve.points
    if not points:
        yield f"{_INDENT}no size was measured"
        return
    *_, last = points
    for placed in measured_curve.placed:
        yield facts_on_lines(_numbers(placed, style), style, _INDENT)
    yield from _held_to(measured_curve, style)
    if draws and len(points) > 2:  # noqa: PLR2004 - else no curve
        yield _INDENT + _bars(measured_curve)
    for knee in measured_curve.curve.knees:
        yield (
            f"{_INDENT}falls from {_rate(knee.before)} to {_rate(knee.after)} at "
            f"{shown_bytes(knee.size_bytes)}"
        )
    if measured_curve.unfinished:
        text = (
            f"not complete after {shown_bytes(last.size_bytes)}: "
            f"{measured_curve.unfinished}"
        )
        yield wrap(text, style.width, _INDENT)


def conditions(measured_curve: MeasuredCurve) -> Iterator[str]:
    """Yield the conditions under which a curve was measured."""
    yield from _size(measured_curve.ranks, measured_curve.nodes)
    if measured_curve.gpu:
        yield printable(measured_curve.gpu)
    if measured_curve.runs > 1:
        yield counted(measured_curve.runs, "run")
    if measured_curve.tool:
        yield printable(measured_curve.tool)


def _size(ranks: int | None, nodes: int | None) -> Iterator[str]:
    if ranks is None:
        yield "ranks not known"
    elif nodes is None:
        yield counted(ranks, "rank")
    else:
        yield f"{counted(ranks, 'rank')} on {counted(nodes, 'node')}"


def _numbers(placed_curve: PlacedCurve, style: Style) -> Iterator[str]:
    peak = placed_curve.curve.peak
    if peak is None:
        return
    where = (
        f"{placed_curve.placement.replace('_', ' ')} " if placed_curve.placement else ""
    )
    rate, size = _rate(peak.bus_bytes_per_second), shown_bytes(peak.size_bytes)
    yield f"{where}peak {rate} at {size}"
    half = placed_curve.curve.half_peak_bytes
    if half is not None:
        yield f"half of it from {shown_bytes(half)} on"
    small = placed_curve.curve.small_message_seconds
    if small is not None:
        unit = "\u00b5s" if style.unicode else "us"
        yield f"{small * 1e6:.3g} {unit} for small messages"


def _held_to(measured_curve: MeasuredCurve, style: Style) -> Iterator[str]:
    """Yield what is expected at the size of the peak, and on what that rests."""
    peak = measured_curve.curve.peak
    size = peak.size_bytes if peak else None
    bound = next(
        (b for b in measured_curve.held_to.bounds if b.size_bytes == size), None
    )
    if peak is not None and bound is not None:
        words: list[str] = []
        if bound.ceiling:
            share = peak.bus_bytes_per_second / bound.ceiling
            words.append(f"{share:.0%} of the ceiling, {_rate(bound.ceiling)}")
        if bound.warn_below and bound.fail_below:
            words.append(f"warning below {_rate(bound.warn_below)}")
            words.append(f"failure below {_rate(bound.fail_below)}")
        if words:
            yield facts_on_lines(words, style, _INDENT)
    for text in (measured_curve.held_to.basis, measured_curve.path):
        if text:
            yield wrap(text, style.width, _INDENT)


def _bars(measured_curve: MeasuredCurve) -> str:
    """Return a bar for each size, as high as its share of the peak."""
    rates = [point.bus_bytes_per_second for point in measured_curve.curve.points]
    top = max(rates) or 1.0
    bars = "".join(_BARS[round(rate / top * (len(_BARS) - 1))] for rate in rates)
    first, last = measured_curve.curve.points[0], measured_curve.curve.points[-1]
    return f"{shown_bytes(first.size_bytes)} {bars} {shown_bytes(last.size_bytes)}"


def _rate(bytes_per_second: float) -> str:
    return amount(bytes_per_second, "bytes_per_second", 1e9)


_WIDTHS = {"float64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}
_HEADS = (
    ("size", "count", "type", "time", "algbw", "busbw", "p99", "spread", "#wrong"),
    ("(B)", "(elements)", "", "(us)", "(GB/s)", "(GB/s)", "(us)", "(%)", ""),
)
_FORM = "{:>12} {:>12} {:>9} {:>10} {:>8} {:>8} {:>10} {:>7} {:>7}"
_UNSTEADY = 0.10
_MARKED = ("wrong_values", "spread")
_MOST_HOSTS = 8


def collective_table(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines for all runs of a snapshot."""
    runs = data.get("collective_runs") or []
    unsteady = 0
    for run in runs:
        yield f"# {_title(run)}\n"
        if run.get("size_bytes"):
            for head in _HEADS:
                yield f"#{_FORM.format(*head)[1:]}\n"
            for at in range(len(run["size_bytes"])):
                yield f"{table_row(run, at)}\n"
            unsteady += sum(spread > _UNSTEADY for spread in run["spread"])
        if not run.get("is_complete"):
            yield f"# not complete: {run.get('ended_by')}\n"
    if unsteady:
        yield (
            f"# * {unsteady} unsteady: iterations spread over more than "
            f"{_UNSTEADY:.0%} of their median, in the steadiest of several attempts\n"
        )
    yield "\n"


def _title(run: Mapping[str, Any]) -> str:
    hosts: Sequence[str] = run.get("hosts") or ()
    names = ", ".join(hosts[:_MOST_HOSTS])
    names += f" and {len(hosts) - _MOST_HOSTS} more" if len(hosts) > _MOST_HOSTS else ""
    turn = f"round {run['round']}: " if "round" in run else ""
    gpu = run.get("gpu")
    what = gpu if isinstance(gpu, str) else "CPU"
    return (
        f"{turn}{run['collective']}, {run['ranks']} ranks on {names} ({what}, "
        f"{run['backend']} of torch {run['torch_version']}), {run['placement']}, "
        f"{run['warmup_iterations']} + {run['iterations']} iterations"
    )


def table_row(run: Mapping[str, Any], at: int) -> str:
    """Return one size of a run."""
    size, wrong, spread = (run[leaf][at] for leaf in ("size_bytes", *_MARKED))
    mark = "*" if spread > _UNSTEADY else ""
    return _FORM.format(
        size,
        size // _WIDTHS[run["data_type"]],
        run["data_type"],
        _scaled(run["seconds"][at], 1e6, 1),
        _scaled(run["algorithm_bytes_per_second"][at], 1e-9, 3),
        _scaled(run["bus_bytes_per_second"][at], 1e-9, 3),
        _scaled(run["p99_seconds"][at], 1e6, 1),
        f"{spread * 100:.1f}{mark}",
        "N/A" if wrong is None else wrong,
    )


def _scaled(value: float | None, factor: float, digits: int) -> str:
    return "N/A" if value is None else f"{value * factor:.{digits}f}"
