"""Energy of training: power times time. Advisory: measure it where you can.

Power is that of the GPU as its driver limits it, unless the caller adds to it; the
power usage effectiveness (PUE) is that of the building, total over equipment.
"""

from speccheck.validator.models.estimate import Estimate

JOULES_PER_KILOWATT_HOUR = 3.6e6
_SECONDS_PER_HOUR = 3_600
_SOURCE = "power x time; GPU power limit, no host, network or cooling unless in PUE"
# Engineering default: GPUs in training draw from this share up to their limit.
_LEAST_SHARE_OF_LIMIT = 0.6


def job_power(gpus: int, watts: float) -> Estimate:
    """Watts of all GPUs at a power limit."""
    return _advisory(gpus * watts)


def run_energy(
    gpu_hours: float, watts: float, *, power_usage_effectiveness: float = 1.0
) -> Estimate:
    """Joules of so many GPU-hours at a power limit."""
    joules = gpu_hours * _SECONDS_PER_HOUR * watts * power_usage_effectiveness
    return _advisory(joules)


def energy_per_token(
    watts: float, tokens_per_second: float, *, power_usage_effectiveness: float = 1.0
) -> Estimate:
    """Joules of one token, from power and tokens per second of the same GPUs."""
    return _advisory(watts * power_usage_effectiveness / tokens_per_second)


def _advisory(at_limit: float) -> Estimate:
    low = at_limit * _LEAST_SHARE_OF_LIMIT
    return Estimate(at_limit, low, at_limit, "advisory", _SOURCE)
