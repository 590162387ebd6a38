"""How well the models predict published readings: a table, a page and a plot.

Prints the errors group by group; with `--write` it writes docs/accuracy.md and the plot
beside it as well, which needs the extra `bench` (`make accuracy`).
"""

import argparse
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from accuracy_page import (
    PAGE,
    PLOT,
    band_rows_text,
    band_text,
    number_text,
    page,
    percent_text,
)
from prediction_groups import Group, collect, grouped

_WIDTH_WITHOUT_TERMINAL = 80
_HEADINGS = ("rows", "mean", "MAPE", "least", "most", "band", "out", "beyond")
_LEAST_WIDTH = {"mean": 6, "least": 6, "most": 6, "band": 7}
_NAME_WIDTH = 26  # longer names are cut, so that all columns fit into 80


def table(groups: Iterable[Group]) -> Table:
    """Return the groups of all tables, one line each."""
    shown = Table(
        title="Errors in percent; out: of the band; beyond: a bound",
        box=None,
        collapse_padding=True,
        pad_edge=False,
        title_justify="left",
    )
    shown.add_column("group", no_wrap=True, max_width=_NAME_WIDTH)
    for heading in _HEADINGS:
        width = max(len(heading), _LEAST_WIDTH.get(heading, 0))
        shown.add_column(heading, justify="right", no_wrap=True, min_width=width)
    last = ""
    for group in groups:
        if group.table != last:
            shown.add_row(f"[bold]{group.table}[/bold]")
            last = group.table
        shown.add_row(f"  {group.name}", *_cells(group))
    return shown


def _cells(group: Group) -> tuple[str, ...]:
    errors = group.errors
    beyond = len(group.under_lower_bound) + len(group.over_upper_bound)
    return (
        number_text(len(group.rows)),
        percent_text(group.mean_error),
        percent_text(group.mean_absolute_error, sign=False),
        percent_text(min(errors, default=None)),
        percent_text(max(errors, default=None)),
        ("some " if band_rows_text(group) else "") + band_text(group),
        _marked(len(group.out_of_band)),
        _marked(beyond),
    )


def _marked(count: int) -> str:
    return f"[bold red]{count}[/bold red]" if count else ""


def main() -> int:
    """Print, and write where asked to; returns the exit code."""
    parser = argparse.ArgumentParser(description="Hold models to published readings.")
    parser.add_argument(
        "--write", action="store_true", help="write docs/accuracy.md and its plot"
    )
    options = parser.parse_args()
    predictions = collect()
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL)
    console.print(table(grouped(predictions)))
    if options.write:
        from accuracy_plot import draw  # noqa: PLC0415 - needs matplotlib

        PAGE.write_text(page(predictions), encoding="utf-8")
        PLOT.write_text(draw(predictions), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
