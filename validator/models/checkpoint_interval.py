"""How often to save: lost work against time spent saving, failures being memoryless.

Daly 2006 (doi:10.1016/j.future.2004.11.016). With interval t, blocking save time d,
restart time r and mean time between failures m, all in seconds, the useful share of
the run is

    u(t) = t / (m * exp(r / m) * (exp((t + d) / m) - 1))

and is largest where (1 - t / m) * exp((t + d) / m) = 1. Young 1974 and Daly give closed
approximations of that interval; the equation itself is solved here where they are off.
"""

import math

_HALVINGS = 60  # of the interval between 0 and m: far below a nanosecond
_LARGEST_EXPONENT = 700.0  # exp() of more overflows a float


def young_interval_seconds(save_seconds: float, mtbf_seconds: float) -> float:
    """Young's first-order optimum: costs 0.3 points while a save takes 0.1 MTBF."""
    return math.sqrt(2 * save_seconds * mtbf_seconds)


def daly_interval_seconds(save_seconds: float, mtbf_seconds: float) -> float:
    """Daly's higher-order optimum: within 0.1 percent while a save takes 0.1 MTBF."""
    if save_seconds >= 2 * mtbf_seconds:
        return mtbf_seconds
    ratio = save_seconds / (2 * mtbf_seconds)
    series = 1 + math.sqrt(ratio) / 3 + ratio / 9
    return young_interval_seconds(save_seconds, mtbf_seconds) * series - save_seconds


def optimal_interval_seconds(save_seconds: float, mtbf_seconds: float) -> float:
    """The interval with the largest useful share, by the equation above.

    The root exists and is unique between 0 and the MTBF, since the left side falls
    there from exp(d / m) to 0.
    """
    shortest, longest = 0.0, mtbf_seconds
    for _ in range(_HALVINGS):
        middle = (shortest + longest) / 2
        left = 1 - middle / mtbf_seconds
        if left > 0 and math.log(left) + (middle + save_seconds) / mtbf_seconds > 0:
            shortest = middle
        else:
            longest = middle
    return shortest


def useful_share(
    interval_seconds: float,
    save_seconds: float,
    mtbf_seconds: float,
    restart_seconds: float = 0.0,
) -> float:
    """The share of the run that makes progress: no saving, restarting, repeating.

    0 where an interval takes so many MTBF that it all but never ends without a failure.
    """
    exponent = (interval_seconds + save_seconds) / mtbf_seconds
    if exponent + restart_seconds / mtbf_seconds > _LARGEST_EXPONENT:
        return 0.0
    repeats = mtbf_seconds * math.exp(restart_seconds / mtbf_seconds)
    return interval_seconds / (repeats * math.expm1(exponent))
