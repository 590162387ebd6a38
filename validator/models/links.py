"""What links carry at most, by their data rates.

Rates are bytes per second, one way, after the coding of the line and before packets:
no copy is faster. Sources: PCI-SIG data rates and codings (8b/10b up to generation 2,
128b/130b up to 5, 242 of 256 bytes of a flit from 6 on).
"""

_BITS = 8
_GIGA = 1e9
# By generation: transfers of a lane in 1e9 a second, and the share that is data.
_LANES: dict[int, tuple[float, float]] = {
    1: (2.5, 8 / 10),
    2: (5.0, 8 / 10),
    3: (8.0, 128 / 130),
    4: (16.0, 128 / 130),
    5: (32.0, 128 / 130),
    6: (64.0, 242 / 256),
}


def pcie_bytes_per_second(generation: int, width: int) -> float | None:
    """What a PCIe link carries one way; None for a generation that is not known."""
    lane = _LANES.get(generation)
    if lane is None:
        return None
    transfers, share = lane
    return transfers * _GIGA * share * width / _BITS
