"""The page of accuracy says what the models give now, and counts what does not hold."""

import importlib.util

import pytest

from accuracy_page import PAGE, PLOT, page
from prediction_groups import Group, collect, digest, grouped
from predictions.prediction import Prediction


def row(
    group: str = "a",
    *,
    published: float | None = 100,
    predicted: float | None = 100,
    lower: float | None = None,
    upper: float | None = None,
    band: float | None = None,
) -> Prediction:
    return Prediction(
        "table", group, "x-1", "GB", published, predicted, lower, upper, band
    )


def group_of(*rows: Prediction) -> Group:
    (found,) = grouped(rows)
    return found


def test_the_page_is_what_the_models_give_now() -> None:
    assert PAGE.read_text("utf-8") == page(collect()), "run make accuracy"


def test_the_plot_is_drawn_of_what_the_models_give_now() -> None:
    assert digest(collect()) in PLOT.read_text("utf-8"), "run make accuracy"


def test_errors_keep_their_sign_and_their_size() -> None:
    group = group_of(row(predicted=90), row(predicted=120), row(published=None))
    assert list(group.errors) == [-10, 20]
    assert group.mean_error == 5
    assert group.mean_absolute_error == 15


def test_a_group_without_readings_has_no_error() -> None:
    group = group_of(row(published=None), row(predicted=None))
    assert not group.errors
    assert group.mean_error is None
    assert group.mean_absolute_error is None


@pytest.mark.parametrize(
    ("item", "out", "below", "above"),
    [
        (row(predicted=110, band=10), 0, 0, 0),
        (row(predicted=111, band=10), 1, 0, 0),
        (row(predicted=89, band=10), 1, 0, 0),
        (row(predicted=500), 0, 0, 0),
        (row(predicted=None, lower=100, upper=100), 0, 0, 0),
        (row(predicted=None, lower=100.1), 0, 1, 0),
        (row(predicted=None, upper=99.9), 0, 0, 1),
        (row(published=None, predicted=None, lower=1, upper=0), 0, 0, 0),
    ],
)
def test_what_does_not_hold_is_counted_and_named(
    item: Prediction, out: int, below: int, above: int
) -> None:
    group = group_of(item)
    faults = (group.out_of_band, group.under_lower_bound, group.over_upper_bound)
    assert tuple(map(len, faults)) == (out, below, above)
    said = (
        page([item]).partition("## Rows that do not hold")[2].partition("## table")[0]
    )
    assert said.count("| table | a | x-1 |") == out + below + above


def test_groups_keep_the_order_in_which_they_come() -> None:
    rows = (row("b"), row("a"), row("b"))
    assert [(item.name, len(item.rows)) for item in grouped(rows)] == [
        ("b", 2),
        ("a", 1),
    ]


def test_a_page_shows_every_row() -> None:
    text = page([row("b", predicted=99.5, lower=1, band=3), row("a", published=None)])
    assert "| table | [b](#table-b) | 1 | 1 | -0.5 | 0.5 | -0.5 | -0.5 | 3 |" in text
    assert "### table: b\n" in text
    assert "\n| x-1 | GB | 100 | 99.5 | -0.5 | 1 |  |\n" in text
    assert "\n| x-1 | GB |  | 100 |  |  |  |\n" in text


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="needs the extra plot"
)
def test_the_same_predictions_draw_the_same_plot() -> None:
    from accuracy_plot import draw  # noqa: PLC0415 - of the extra

    rows = (row("b", predicted=99), row("a", published=3), row(published=None))
    drawn = draw(rows)
    assert draw(rows) == drawn
    assert digest(rows) in drawn
    assert ">b (1)</text>" in drawn
