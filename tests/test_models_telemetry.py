"""Samples that come as they should, late, or not at all."""

from collections.abc import Mapping
from typing import Any

import pytest

from predictions.prediction import vectors
from speccheck.validator.models.telemetry import (
    interval_adherence,
    timestamp_unit,
)


@pytest.mark.parametrize("item", vectors("interval_adherence"))
def test_two_samples_lost(item: Mapping[str, Any]) -> None:
    inputs, expected = item["inputs"], item["expected"]
    interval, span = inputs["interval_s"], inputs["span_s"]
    lost = range(3, 3 + inputs["missing_consecutive"])
    times = [n * interval for n in range(span // interval + 1) if n not in lost]
    found = interval_adherence(times, interval)
    assert found is not None
    assert found.coverage == pytest.approx(expected["coverage"], abs=item["tolerance"])
    assert found.longest_gap == expected["max_gap_intervals"]
    assert (found.median_gap, found.gap_99) == (1, 1)


def test_one_sample_has_no_interval() -> None:
    assert interval_adherence([5.0], 30) is None


def test_samples_at_the_same_time_cover_nothing() -> None:
    found = interval_adherence([5.0, 5.0], 30)
    assert found is not None
    assert found.coverage == 0


@pytest.mark.parametrize("item", vectors("timestamp_unit"))
def test_units_of_times(item: Mapping[str, Any]) -> None:
    assert timestamp_unit(item["inputs"]["value"]) == item["expected"]
