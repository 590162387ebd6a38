"""Amounts are written as people say them."""

import pytest

from speccheck.validator.models.units import mebibytes


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (65536, "0.0625 MiB"),
        (64 * 2**20, "64 MiB"),
        (2**30, "1 GiB"),
        (25_282_215_936, "23.55 GiB"),
        (2000 * 2**30, "2,000 GiB"),
    ],
)
def test_bytes_in_binary_units(amount: int, text: str) -> None:
    assert mebibytes(amount) == text
