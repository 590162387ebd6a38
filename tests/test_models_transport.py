"""Retry times of InfiniBand and MRC, against the figures that their makers publish."""

import math

import pytest

from speccheck.validator.models.transport_retry import (
    ib_retry_seconds,
    mrc_timeout_seconds,
)


@pytest.mark.parametrize(
    ("exponent", "retries", "seconds"),
    [
        (14, 7, 0.4698),
        (18, 7, 7.5162),
        (20, 7, 30.0648),
        (22, 7, 120.2591),
        (20, 1, 4.295),
    ],
)
def test_retries_of_infiniband(exponent: int, retries: int, seconds: float) -> None:
    assert ib_retry_seconds(exponent, retries, 4.096) == pytest.approx(
        seconds, abs=1e-3
    )


@pytest.mark.parametrize("exponent", [0, -1, 32, 40])
def test_an_exponent_out_of_range_never_ends(exponent: int) -> None:
    assert math.isinf(ib_retry_seconds(exponent, 7, 4.096))


@pytest.mark.parametrize(
    ("exponent", "seconds"), [(0, 1.024e-6), (20, 1.073741824), (24, 17.179869184)]
)
def test_timeout_of_mrc(exponent: int, seconds: float) -> None:
    assert mrc_timeout_seconds(exponent, 1.024) == pytest.approx(seconds, rel=1e-9)
