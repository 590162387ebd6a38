"""From operations to time: utilization, a pipeline's waiting, scaling, energy, days.

A utilization needs the convention of its FLOPs (flops.py) and the peak it is taken
of; this project takes the dense bf16 peak of the GPU, also for 8-bit formats, whose
utilization may then exceed one.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly, within

_SOURCE = "bubble law, Narayanan et al. 2021 (arXiv:2104.04473)"
_EQUAL_STAGES = "equal stages, no exposed communication, one-forward-one-backward"
# Six published readings of strong scaling lie within it (throughput.csv).
_SCALING_BAND = 0.03


class PipelineShape(Record):
    """A schedule: stages, micro-batches of a step, model chunks on each stage."""

    stages: int
    micro_batches: int
    chunks: int = 1


def idle_share(pipeline: PipelineShape) -> Estimate:
    """Return the idle time in the time of the step: (p - 1) / (v m + p - 1)."""
    waits = pipeline.stages - 1
    work = pipeline.chunks * pipeline.micro_batches
    return exactly(waits / (work + waits), _SOURCE)._replace(valid=_EQUAL_STAGES)


def idle_over_ideal(pipeline: PipelineShape) -> Estimate:
    """Return the idle time over the time without it: (p - 1) / (v m)."""
    work = pipeline.chunks * pipeline.micro_batches
    return exactly((pipeline.stages - 1) / work, _SOURCE)._replace(valid=_EQUAL_STAGES)


def scaled_throughput(
    measured: float, pipeline: PipelineShape, micro_batches: int
) -> Estimate:
    """Return the throughput of one GPU when the same batch is spread over more of them.

    Each then has other `micro_batches` than the pipeline that was measured.
    """
    before = idle_over_ideal(pipeline).value
    after = idle_over_ideal(pipeline._replace(micro_batches=micro_batches)).value
    value = measured * (1 + before) / (1 + after)
    return within(value, _SCALING_BAND, _SOURCE, _EQUAL_STAGES)


_SCALING_SOURCE = "overlap of exchange and compute"
_ZERO3 = "max(compute, traffic); bandwidth fitted on Narayanan et al. 2021 table 2"
_ZERO3_BAND = 0.20
# Weights are gathered twice and gradients scattered once, 2 bytes each.
_ZERO3_BYTES = 6
_RECOMPUTED_FLOPS = 8


def scaling_efficiency(
    compute: Estimate, exposed_before: Estimate, exposed_after: Estimate
) -> Estimate:
    """Return a GPU's throughput after growing over that before, at equal work."""
    value = _share(compute.value, exposed_before.value, exposed_after.value)
    # More compute hides more, so slow compute goes with little exposed time.
    low = _share(compute.lower, exposed_before.lower, exposed_after.upper)
    high = _share(compute.upper, exposed_before.upper, exposed_after.lower)
    return Estimate(
        value,
        min(low, 1.0),
        min(high, 1.0),
        "advisory",
        f"(c + e1) / (c + e2); {_SCALING_SOURCE}",
    )


def _share(compute: float, before: float, after: float) -> float:
    return (compute + before) / (compute + after)


def sharded_throughput(
    tokens: float,
    ranks: int,
    *,
    compute_ceiling: float,
    bytes_per_second: float,
) -> Estimate:
    """Return hardware FLOPs a second of one GPU under ZeRO-3 with full recomputation.

    Per parameter, so that the model's size cancels. `tokens` of one micro-batch.
    """
    flops = _RECOMPUTED_FLOPS * tokens
    traffic = _ZERO3_BYTES * (ranks - 1) / ranks / bytes_per_second
    seconds = max(flops / compute_ceiling, traffic)
    return within(flops / seconds, _ZERO3_BAND, _ZERO3, "DeepSpeed of 2021, A100")


JOULES_PER_KILOWATT_HOUR = 3.6e6
_SECONDS_PER_HOUR = 3_600
_ENERGY_SOURCE = (
    "power x time; GPU power limit, no host, network or cooling unless in PUE"
)
# Engineering default: GPUs in training draw from this share up to their limit.
_LEAST_SHARE_OF_LIMIT = 0.6


def job_power(gpus: int, watts: float) -> Estimate:
    """Return the watts of all GPUs at a power limit."""
    return _advisory(gpus * watts)


def run_energy(
    gpu_hours: float, watts: float, *, power_usage_effectiveness: float = 1.0
) -> Estimate:
    """Return the joules of so many GPU-hours at a power limit."""
    joules = gpu_hours * _SECONDS_PER_HOUR * watts * power_usage_effectiveness
    return _advisory(joules)


def energy_per_token(
    watts: float, tokens_per_second: float, *, power_usage_effectiveness: float = 1.0
) -> Estimate:
    """Return joules of one token, from power and tokens per second of the same GPUs."""
    return _advisory(watts * power_usage_effectiveness / tokens_per_second)


def _advisory(at_limit: float) -> Estimate:
    low = at_limit * _LEAST_SHARE_OF_LIMIT
    return Estimate(at_limit, low, at_limit, "advisory", _ENERGY_SOURCE)


SECONDS_PER_DAY = 86_400
SECONDS_PER_HOUR = 3_600
_HIDDEN_ATTENTION = "8 T P / (n X), Narayanan et al. 2021 (arXiv:2104.04473)"
# Forward, recomputed forward and backward of one parameter and one token.
_TRAINED_FLOPS = 6
# A limit below this share of the default is a cap, and no rounding.
_LIMITED_BELOW = 0.98


def utilization(
    flops_per_token: float, tokens_per_second: float, peak_flops: float
) -> Estimate:
    """Return a GPU's share of the peak, from its own tokens per second."""
    return exactly(
        flops_per_token * tokens_per_second / peak_flops,
        "FLOPs of a token x tokens per second / peak",
    )


def training_days(
    parameters: float, tokens: float, gpus: int, flops_per_second: float
) -> Estimate:
    """Return the days of a run that recomputes all activations.

    flops_per_second are hardware FLOPs of one GPU. Attention scores and the output
    head are omitted, up to 4 percent.
    """
    seconds = _RECOMPUTED_FLOPS * tokens * parameters / (gpus * flops_per_second)
    days = seconds / SECONDS_PER_DAY
    return Estimate(
        days, days, days * 1.04, "calibrated", _HIDDEN_ATTENTION, "full recomputation"
    )


def implied_flops_per_second(
    parameters: float, tokens: float, gpu_hours: float
) -> Estimate:
    """Return the model FLOPs a second of one GPU that published GPU-hours imply."""
    value = _TRAINED_FLOPS * parameters * tokens / (gpu_hours * SECONDS_PER_HOUR)
    return exactly(value, "6 P T / GPU time")


def is_power_limited(enforced_watts: float, default_watts: float) -> bool:
    """Return whether a GPU is below its default power, so that readings are lower."""
    return enforced_watts / default_watts < _LIMITED_BELOW
