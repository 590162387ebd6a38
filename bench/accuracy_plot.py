"""docs/accuracy.svg: predicted against published, a panel for each table.

The same predictions give the same bytes: no date, no random names, text as text. The
plot says what it was drawn of, so that a test finds one that is out of date.
"""

import io
import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import zip_longest
from typing import Any

from prediction_groups import Group, digest, grouped
from predictions.prediction import Prediction

_STYLE = {
    "svg.hashsalt": "speccheck",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": "#777777",
    "text.color": "#222222",
}
_MARKERS = "osD^v<>Pphd"
_PANEL_INCHES = 4.8  # square
_COLUMNS = 2
_MARGIN = 1.3  # times the largest reading
_NAMED_UNITS = 2  # more do not fit below a panel


def draw(predictions: Sequence[Prediction]) -> str:
    """Return the plot as SVG."""
    # An extra, and without types: nothing but this function needs it.
    matplotlib: Any = import_module("matplotlib")
    figures: Any = import_module("matplotlib.figure")
    tables: dict[str, list[Group]] = {}
    for group in grouped(predictions):
        if _points(group.rows):
            tables.setdefault(group.table, []).append(group)
    rows = math.ceil(len(tables) / _COLUMNS) or 1
    size = (_COLUMNS * _PANEL_INCHES, rows * _PANEL_INCHES)
    with matplotlib.rc_context(_STYLE):
        figure = figures.Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, _COLUMNS).flat
        for panel, table in zip_longest(panels, tables):
            if table is None:
                panel.remove()
            else:
                _panel(panel, table, tables[table], matplotlib.colormaps["tab10"])
        drawn = io.StringIO()
        about = {
            "Date": None,
            "Creator": None,
            "Description": f"predictions {digest(predictions)}",
        }
        figure.savefig(drawn, format="svg", metadata=about)
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + "\n"


def _panel(panel: Any, table: str, groups: Sequence[Group], colours: Any) -> None:  # noqa: ANN401 - matplotlib has no types here
    ends: list[float] = []
    for number, group in enumerate(groups):
        points = _points(group.rows)
        published, predicted = zip(*points, strict=True)
        ends += (min(*published, *predicted), max(*published, *predicted))
        panel.plot(
            published,
            predicted,
            linestyle="",
            marker=_MARKERS[number // colours.N % len(_MARKERS)],
            color=colours(number % colours.N),
            markersize=4,
            markeredgewidth=0,
            alpha=0.7,
            label=f"{group.name} ({len(points)})",
        )
    least, most = min(ends) / _MARGIN, max(ends) * _MARGIN
    panel.plot((least, most), (least, most), color="#999999", linewidth=0.8, zorder=0)
    panel.set(
        title=table,
        xscale="log",
        yscale="log",
        xlim=(least, most),
        ylim=(least, most),
        xlabel=f"published, {_units(groups)}",
        ylabel="predicted",
    )
    panel.set_box_aspect(1)
    panel.legend(loc="lower right", fontsize=6.5, frameon=False, handletextpad=0.1)


def _units(groups: Iterable[Group]) -> str:
    result = dict.fromkeys(row.unit for group in groups for row in group.rows)
    return " or ".join(result) if len(result) <= _NAMED_UNITS else "each in its unit"


def _points(rows: Iterable[Prediction]) -> list[tuple[float, float]]:
    """Return what logarithmic axes can show: published, predicted."""
    return [
        (row.published, row.predicted)
        for row in rows
        if row.published is not None
        and row.predicted is not None
        and min(row.published, row.predicted) > 0
    ]
