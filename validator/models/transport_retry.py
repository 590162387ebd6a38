"""How long a transport retries before it reports a dead link."""

import math

_MICROSECOND = 1e-6
_FIRST_INVALID_EXPONENT = 32  # NCCL documentation: 32 and more, like 0, never end


def ib_retry_seconds(exponent: int, retries: int, unit_microseconds: float) -> float:
    """Unit x 2^exponent x retries; infinite for 0 and for 32 or more.

    The InfiniBand local ACK timeout has a unit of 4.096 us; NCCL_IB_TIMEOUT is the
    exponent, NCCL_IB_RETRY_CNT the retries (NVIDIA/nccl, environment variables).
    """
    if exponent <= 0 or exponent >= _FIRST_INVALID_EXPONENT:
        return math.inf
    return unit_microseconds * _MICROSECOND * 2.0**exponent * retries


def mrc_timeout_seconds(exponent: int, unit_microseconds: float) -> float:
    """Unit x 2^exponent: one acknowledgement timeout of the MRC plugin.

    The unit is 1.024 us (microsoft/mrc-nccl-plugin MRC_ENV_VARIABLES.md). The number of
    retries is unlimited by default, so that only the watchdog ends them.
    """
    return unit_microseconds * _MICROSECOND * 2.0**exponent
