"""Curves of bandwidth: peak, half of it, latency, knees."""

import csv
import math
from pathlib import Path

import pytest

from speccheck.validator.models.curve import Curve, CurvePoint, Knee, curve

TRUTH = Path(__file__).resolve().parents[1] / "fixtures" / "ground_truth" / "busbw.csv"
KIB, MIB, GIB = 2**10, 2**20, 2**30
GIGA = 1e9


def of(*pairs: tuple[int, float], seconds: float | None = None) -> Curve:
    return curve(CurvePoint(size, seconds, rate) for size, rate in pairs)


def published(prefix: str) -> Curve:
    with TRUTH.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["id"].startswith(prefix)]
    return curve(
        CurvePoint(
            int(row["size_bytes"]),
            float(row["time_us"]) / 1e6 if row["time_us"] else None,
            float(row["busbw_gbps"]) * GIGA,
        )
        for row in rows
        if row["kind"] == "measured" and row["size_bytes"]
    )


def test_points_are_ordered_and_repeated_sizes_are_one() -> None:
    found = of((2 * MIB, 3.0), (MIB, 1.0), (MIB, 5.0), (MIB, 2.0))
    assert [(item.size_bytes, item.bus_bytes_per_second) for item in found.points] == [
        (MIB, 2.0),
        (2 * MIB, 3.0),
    ]


def test_half_of_the_peak_lies_between_two_points() -> None:
    found = of((MIB, 10.0), (4 * MIB, 90.0), (16 * MIB, 100.0)).half_peak_bytes
    assert found == pytest.approx(2 * MIB)


def test_half_of_the_peak_holds_for_all_larger_messages() -> None:
    found = of((MIB, 60.0), (2 * MIB, 40.0), (4 * MIB, 60.0), (8 * MIB, 100.0))
    assert found.half_peak_bytes == pytest.approx(2 * MIB * math.sqrt(2))


@pytest.mark.parametrize(
    "rates", [[], [(MIB, 5.0)], [(MIB, 6.0), (2 * MIB, 7.0)], [(MIB, 9.0), (GIB, 1.0)]]
)
def test_where_half_of_the_peak_cannot_be_seen(rates: list[tuple[int, float]]) -> None:
    assert of(*rates).half_peak_bytes is None


def test_small_messages_take_the_time_of_the_collective() -> None:
    points = [
        CurvePoint(0, 9.0, 0.0),
        CurvePoint(8, 1.0, 0.0),
        CurvePoint(KIB, 3.0, 0.0),
    ]
    points += [CurvePoint(8 * KIB, 2.0, 0.0), CurvePoint(MIB, 50.0, 1.0)]
    assert curve(points).small_message_seconds == 2.0
    assert of((MIB, 1.0)).small_message_seconds is None


def test_a_fall_by_more_than_a_tenth_is_a_knee() -> None:
    found = of((MIB, 50.0), (2 * MIB, 40.0), (4 * MIB, 70.0), (8 * MIB, 65.0))
    assert found.knees == (Knee(2 * MIB, 50.0, 40.0),)


def test_a_published_curve_of_one_node() -> None:
    found = published("dgxh100-")
    peak = found.peak
    assert peak is not None
    assert peak.bus_bytes_per_second == pytest.approx(480.16 * GIGA)
    assert found.half_peak_bytes == pytest.approx(16.4 * MIB, rel=0.02)
    assert found.small_message_seconds == pytest.approx(16.7e-6)
    assert found.knees == ()
