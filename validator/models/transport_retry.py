"""How long a transport retries before it reports a dead link."""

import math

from speccheck.validator.models.estimate import Estimate, exactly

_MICROSECOND = 1e-6
_FIRST_INVALID_EXPONENT = 32  # a field of five bits
_LARGEST_MRC_EXPONENT = 24
_ENDLESS_MRC_RETRIES = 25  # of the exponential count
_IB_SOURCE = "NVIDIA/nccl, environment variables"
_MRC_SOURCE = "microsoft/mrc-nccl-plugin MRC_ENV_VARIABLES.md"


def ib_retry_time(exponent: int, retries: int, unit_microseconds: float) -> Estimate:
    """Return seconds: unit x 2^exponent x retries; infinite for 0 and for 32 or more.

    The InfiniBand local ACK timeout has a unit of 4.096 us; NCCL_IB_TIMEOUT is the
    exponent, NCCL_IB_RETRY_CNT the retries.
    """
    if exponent == 0 or not is_ib_exponent(exponent):
        return exactly(math.inf, _IB_SOURCE)
    seconds = unit_microseconds * _MICROSECOND * 2.0**exponent * retries
    return exactly(seconds, _IB_SOURCE)


def is_ib_exponent(exponent: int) -> bool:
    """Return whether the field holds the number; 0 is an endless timeout."""
    return 0 <= exponent < _FIRST_INVALID_EXPONENT


def mrc_timeout(exponent: int, unit_microseconds: float) -> Estimate:
    """Return the seconds of one acknowledgement timeout of MRC: unit x 2^exponent.

    The unit is 1.024 us. The number of retries is unlimited by default, so that only
    the watchdog ends them.
    """
    return exactly(unit_microseconds * _MICROSECOND * 2.0**exponent, _MRC_SOURCE)


def is_mrc_exponent(exponent: int) -> bool:
    """Return whether MRC takes the exponent."""
    return 0 <= exponent <= _LARGEST_MRC_EXPONENT


def mrc_retries_end(exponential_retries: int) -> bool:
    """Return whether the exponential retries end at all."""
    return exponential_retries < _ENDLESS_MRC_RETRIES


def mrc_window_bytes(packet_ranges: int, path_mtu: int, packets_of_range: int) -> int:
    """Return bytes in flight under a maximum packet range (MPR) of so many units."""
    return packet_ranges * packets_of_range * path_mtu


def fewest_mrc_ranges(
    gigabits_per_second: float,
    round_trip_microseconds: float,
    path_mtu: int,
    packets_of_range: int,
) -> int:
    """Return the smallest MPR that keeps a link busy for one round trip."""
    bytes_in_flight = gigabits_per_second * 1e9 / 8 * round_trip_microseconds / 1e6
    return math.ceil(bytes_in_flight / mrc_window_bytes(1, path_mtu, packets_of_range))
