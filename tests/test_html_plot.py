"""Drawings of measured curves: axes, bounds, bands, and numbers no machine has."""

import re
from pathlib import Path

import pytest

from html_reading import Page
from speccheck.validator.report.forms.html_plot import PlotLine, plot_html
from told_runs import text_of, told

LOG = Path(__file__).resolve().parents[1] / "fixtures" / "examples" / "slow-all-reduce"
GIGA = 1e9
SIZES = (1024.0, 2.0**20, 2.0**30)


def line(*rates: float, name: str = "measured0", label: str = "measured") -> PlotLine:
    return PlotLine(
        name, label, tuple(zip(SIZES, (r * GIGA for r in rates), strict=True))
    )


def texts(drawn: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def test_the_rates_are_linear_and_the_sizes_logarithmic() -> None:
    drawn = plot_html([line(10, 100, 200)], "curve-1")
    Page(f"<h1></h1>{drawn}")
    assert texts(drawn) == [
        *("0", "50", "100", "150", "200", "GB/s"),
        *("1 KiB", "1 MiB", "1 GiB"),
    ]
    assert 'd="M56.0 205.8L374.0 114.0L692.0 12.0' in drawn
    assert "logarithmic" not in drawn


def test_small_messages_get_an_axis_on_which_they_are_seen() -> None:
    drawn = plot_html([line(0.02, 40, 380), line(400, 400, 400, name="ceiling")], "c")
    assert drawn.count('<svg viewBox="0 0 720 250"') == 2
    assert (
        "<summary>small messages: the same with a logarithmic axis</summary>" in drawn
    )
    _, _, small = drawn.partition("<details>")
    assert texts(small)[:6] == ["0.01", "0.1", "1", "10", "100", "1000"]


def test_a_band_runs_from_the_least_to_the_most_of_all_runs() -> None:
    band = tuple((size, 90 * GIGA, 110 * GIGA) for size in SIZES)
    drawn = plot_html([line(100, 100, 100)._replace(band=band)], "c")
    assert drawn.count('<path class="band measured0"') == 2  # and in the legend
    one_size = line(100, 100, 100)._replace(band=band[:1])
    assert 'd="M56' in plot_html([one_size], "c")
    assert plot_html([one_size], "c").count('<path class="band') == 1


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [line(1, 2, 3, name="ceiling")],
        [line(0, 0, 0)],
        [PlotLine("measured0", "measured", ((1024.0, GIGA),))],
    ],
)
def test_what_is_no_curve_is_not_drawn(lines: list[PlotLine]) -> None:
    assert plot_html(lines, "c") == ""


def test_bounds_of_the_report_have_dashes_of_their_own() -> None:
    text = text_of(
        "html", told(str(LOG / "all_reduce.log"), "--instance", "p5.48xlarge")
    )
    for name in ("ceiling", "warn", "fail", "measured0"):
        assert f'<path class="{name}" d="M' in text
        assert re.search(rf"\.curve [a-z.]*{name} {{[^}}]*stroke", text), name
    dashes = re.findall(
        r"\.curve \.(?:ceiling|warn|fail) {[^}]*dasharray: ([^;]*);", text
    )
    assert len(set(dashes)) == 3


def test_several_runs_of_one_kind_have_their_spread(tmp_path: Path) -> None:
    text = (LOG / "all_reduce.log").read_text("utf-8")
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "first.log").write_text(text, "utf-8")
    (folder / "second.log").write_text(text, "utf-8")
    words = [str(folder / "first.log"), str(folder / "second.log")]
    page = text_of("html", told(*words, "--instance", "p5.48xlarge"))
    assert page.count("least to most of all runs</li>") >= 1
