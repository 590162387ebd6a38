"""Checkpoints: intervals, sizes, write times and shares against published rows."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from predictions.checkpoint import CONTENTS, predictions
from predictions.prediction import Prediction, vectors
from speccheck.validator.models.checkpointing import (
    Contents,
    checkpoint_bytes,
    daly_interval_seconds,
    optimal_interval_seconds,
    staging_seconds,
    useful_share,
    write_seconds,
    young_interval_seconds,
)
from speccheck.validator.models.estimate import exactly
from speccheck.validator.models.units import duration

ROWS = tuple(predictions())
HELD = [row for row in ROWS if row.band_percent is not None]
_FORMS = {
    "young": young_interval_seconds,
    "daly": daly_interval_seconds,
    "optimum": optimal_interval_seconds,
}
_CONTENTS: dict[str, Contents] = {
    "mixed-precision-adam": CONTENTS["14"],
    "fp32-params-adam": CONTENTS["12"],
}


def _id(row: Prediction | Mapping[str, Any]) -> str:
    return row.id if isinstance(row, Prediction) else str(row["id"])


def _in_group(*groups: str) -> list[Prediction]:
    return [row for row in ROWS if row.group in groups]


def test_all_rows_are_there() -> None:
    assert (len(ROWS), len(HELD)) == (15 * 6 + 4 + 1, 13 + 15 + 14 * 3 + 4 + 1)


@pytest.mark.parametrize("row", HELD, ids=_id)
def test_rows_within_their_band(row: Prediction) -> None:
    assert row.error_percent is not None
    assert row.band_percent is not None
    assert abs(row.error_percent) <= row.band_percent


@pytest.mark.parametrize("row", _in_group("size"), ids=_id)
def test_bounds_of_sizes_hold_the_reading(row: Prediction) -> None:
    assert row.published is not None
    assert row.lower is not None
    assert row.upper is not None
    assert row.lower <= row.published <= row.upper


@pytest.mark.parametrize("item", vectors("checkpoint_interval_s"), ids=_id)
def test_interval_vectors(item: Mapping[str, Any]) -> None:
    save, mtbf = item["inputs"]["delta_s"], item["inputs"]["mttf_s"]
    for form, seconds in item["expected"].items():
        found = _FORMS[form](save, mtbf)
        assert found == pytest.approx(seconds, abs=item["tolerance"])


@pytest.mark.parametrize("item", vectors("checkpoint_bytes"), ids=_id)
def test_size_vectors(item: Mapping[str, Any]) -> None:
    contents = _CONTENTS[item["inputs"]["format"]]
    size = checkpoint_bytes(exactly(item["inputs"]["params"], ""), contents)
    assert size.value == item["expected"]


@pytest.mark.parametrize("item", vectors("checkpoint_write_s"), ids=_id)
def test_write_vectors(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    found = write_seconds(
        exactly(inputs["bytes"], ""),
        inputs["storage_gbps"] * 1e9,
        inputs["ranks"],
        inputs["gbps_per_rank"] * 1e9,
    )
    assert found.value == pytest.approx(item["expected"], rel=item["tolerance"])


def test_young_costs_a_third_of_a_point_at_most() -> None:
    saves = [(10, 11_135), (300, 11_135), (600, 6480), (40, 604_800), (360, 3600)]
    for save, mtbf in saves:
        best = useful_share(optimal_interval_seconds(save, mtbf), save, mtbf)
        young = useful_share(young_interval_seconds(save, mtbf), save, mtbf)
        assert best - 0.003 < young <= best


def test_daly_is_the_mtbf_when_saving_takes_longer_than_two_of_them() -> None:
    assert daly_interval_seconds(900, 400) == 400
    assert optimal_interval_seconds(900, 400) == pytest.approx(383.85, abs=0.01)


def test_no_other_interval_is_better_than_the_optimum() -> None:
    best = optimal_interval_seconds(60, 11135)
    at_best = useful_share(best, 60, 11135)
    for factor in (0.25, 0.5, 0.9, 1.1, 2, 4):
        assert useful_share(factor * best, 60, 11135) < at_best


def test_an_interval_of_many_mtbf_makes_no_progress() -> None:
    assert useful_share(1e9, 60, 1000) == 0.0
    assert useful_share(20_000, 60, 1000) == pytest.approx(0.0, abs=1e-6)


def test_a_restart_that_never_ends_makes_no_progress() -> None:
    assert useful_share(600, 60, 1000, math.inf) == 0.0


def test_a_save_that_never_ends_leaves_no_room_but_no_overflow() -> None:
    assert math.isfinite(optimal_interval_seconds(1e9, 400))


def test_without_failures_only_saving_costs_time() -> None:
    assert useful_share(990, 10, 1e12) == pytest.approx(0.99, abs=1e-6)


def test_contents_that_are_not_known_have_wide_bounds() -> None:
    size = checkpoint_bytes(exactly(1e9, ""), "unknown")
    assert (size.lower, size.upper, size.kind) == (2e9, 18e9, "lower_bound")


def test_one_writer_takes_longer_than_the_store_alone_would() -> None:
    found = write_seconds(exactly(1e12, ""), 1e10)
    assert (found.lower, found.upper, found.kind) == (100, math.inf, "lower_bound")


def test_staging_copies_the_share_of_one_rank() -> None:
    found = staging_seconds(exactly(8e12, ""), 1000)
    assert found.value == pytest.approx(0.8)
    assert found.lower == pytest.approx(0.08)
    assert found.upper == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (45, "45 s"),
        (90, "90 s"),
        (2400, "40 min"),
        (3600, "1 h"),
        (86400, "24 h"),
        (259200, "3 d"),
    ],
)
def test_durations_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
