"""Retry times and packet sizes, against the figures that their makers publish."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from predictions.prediction import Prediction, vectors
from predictions.transport import IB_UNIT, MRC_UNIT, predictions
from speccheck.validator.models.path_mtu import active_path_mtu, roce_packet_bytes
from speccheck.validator.models.transport_retry import (
    fewest_mrc_ranges,
    ib_retry_time,
    is_ib_exponent,
    is_mrc_exponent,
    mrc_retries_end,
    mrc_timeout,
    mrc_window_bytes,
)

ROWS = tuple(predictions())


def _id(item: Prediction | Mapping[str, Any]) -> str:
    return item.id if isinstance(item, Prediction) else str(item["id"])


def test_all_rows_are_there() -> None:
    assert [row.id for row in ROWS] == ["ib-20", "ib-18", "ib-14", "ib-22", "mrc-20"]


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_rows_within_their_band(row: Prediction) -> None:
    assert row.error_percent is not None
    assert row.band_percent is not None
    assert abs(row.error_percent) <= row.band_percent


@pytest.mark.parametrize("item", vectors("ib_detection_s"), ids=_id)
def test_retries_of_infiniband(item: Mapping[str, Any]) -> None:
    found = ib_retry_time(item["inputs"]["timeout"], item["inputs"]["retries"], IB_UNIT)
    if item["expected"] == "infinite":
        assert math.isinf(found.value)
        return
    assert found.value == pytest.approx(item["expected"], rel=item["tolerance"])


@pytest.mark.parametrize("item", vectors("ib_timeout_valid"), ids=_id)
def test_exponents_that_infiniband_takes(item: Mapping[str, Any]) -> None:
    assert is_ib_exponent(item["inputs"]["timeout"]) is item["expected"]


@pytest.mark.parametrize("exponent", [-1, 32, 40])
def test_an_exponent_out_of_range_never_ends(exponent: int) -> None:
    assert math.isinf(ib_retry_time(exponent, 7, IB_UNIT).value)


@pytest.mark.parametrize("item", vectors("mrc_ack_timeout_s"), ids=_id)
def test_timeout_of_mrc(item: Mapping[str, Any]) -> None:
    found = mrc_timeout(item["inputs"]["timeout"], MRC_UNIT).value
    assert found == pytest.approx(item["expected"], rel=item["tolerance"])


@pytest.mark.parametrize("item", vectors("mrc_timeout_valid"), ids=_id)
def test_exponents_that_mrc_takes(item: Mapping[str, Any]) -> None:
    assert is_mrc_exponent(item["inputs"]["timeout"]) is item["expected"]
    assert is_mrc_exponent(24)


@pytest.mark.parametrize("item", vectors("mrc_exp_retry_kind"), ids=_id)
def test_whether_mrc_gives_up(item: Mapping[str, Any]) -> None:
    ends = mrc_retries_end(item["inputs"]["exp_cnt"])
    assert ends is (item["expected"] == "finite")


@pytest.mark.parametrize("item", vectors("mrc_min_mpr"), ids=_id)
def test_packet_ranges_that_fill_a_link(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    found = fewest_mrc_ranges(
        inputs["gbit_per_s"], inputs["rtt_us"], inputs["mtu"], inputs["psn_unit"]
    )
    assert found == item["expected"]


@pytest.mark.parametrize("item", vectors("mrc_mpr_window_bytes"), ids=_id)
def test_window_of_packet_ranges(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    found = mrc_window_bytes(inputs["mpr"], inputs["mtu"], inputs["psn_unit"])
    assert found == item["expected"]


@pytest.mark.parametrize("item", vectors("roce_l3_bytes"), ids=_id)
def test_packet_sizes(item: Mapping[str, Any]) -> None:
    inputs = item["inputs"]
    found = roce_packet_bytes(
        inputs["path_mtu"],
        inputs["ip"],
        inputs["srv6"],
        has_immediate=inputs["imm"],
    )
    assert found == item["expected"]


@pytest.mark.parametrize("item", vectors("active_mtu_from_netdev"), ids=_id)
def test_the_mtu_of_an_interface(item: Mapping[str, Any]) -> None:
    assert active_path_mtu(item["inputs"]["netdev_mtu"]) == item["expected"]
