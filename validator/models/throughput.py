"""From operations to time: utilization, days of a run, and published utilizations.

A utilization needs the convention of its FLOPs (flops.py) and the peak it is taken
of; this project takes the dense bf16 peak of the GPU, also for 8-bit formats, whose
utilization may then exceed one.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.architectures import architecture_of
from speccheck.validator.models.estimate import Estimate, exactly

SECONDS_PER_DAY = 86_400
SECONDS_PER_HOUR = 3_600
_HIDDEN_ATTENTION = "8 T P / (n X), Narayanan et al. 2021 (arXiv:2104.04473)"
# Forward, recomputed forward and backward of one parameter and one token.
_RECOMPUTED_FLOPS = 8
_TRAINED_FLOPS = 6
# A limit below this share of the default is a cap, and no rounding.
_LIMITED_BELOW = 0.98


def utilization(
    flops_per_token: float, tokens_per_second: float, peak_flops: float
) -> Estimate:
    """Share of the peak that one GPU reaches, from its own tokens per second."""
    return exactly(
        flops_per_token * tokens_per_second / peak_flops,
        "FLOPs of a token x tokens per second / peak",
    )


def training_days(
    parameters: float, tokens: float, gpus: int, flops_per_second: float
) -> Estimate:
    """Days of a run that recomputes all activations.

    flops_per_second are hardware FLOPs of one GPU. Attention scores and the output
    head are left out, up to 4 percent.
    """
    seconds = _RECOMPUTED_FLOPS * tokens * parameters / (gpus * flops_per_second)
    days = seconds / SECONDS_PER_DAY
    return Estimate(
        days, days, days * 1.04, "calibrated", _HIDDEN_ATTENTION, "full recomputation"
    )


def implied_flops_per_second(
    parameters: float, tokens: float, gpu_hours: float
) -> Estimate:
    """Model FLOPs a second of one GPU that a published GPU-hour figure implies."""
    value = _TRAINED_FLOPS * parameters * tokens / (gpu_hours * SECONDS_PER_HOUR)
    return exactly(value, "6 P T / GPU time")


def is_power_limited(enforced_watts: float, default_watts: float) -> bool:
    """Whether a GPU runs below its default power, so that readings of it are lower."""
    return enforced_watts / default_watts < _LIMITED_BELOW


class PublishedUtilization(Record):
    """Lowest, middle and highest utilization of published runs, and what they are.

    In the palm convention, of the dense bf16 peak.
    """

    lowest: float
    middle: float
    highest: float
    source: str


_FOUNDRY = "mosaicml/llm-foundry scripts/train/benchmarking"
_BRIDGE = "NVIDIA-NeMo/Megatron-Bridge docs/performance-summary.md"

# Of models from one billion parameters on; by architecture, whether products run in 8
# bits, and whether the model is a mixture of experts. Held to throughput.csv.
UTILIZATIONS: dict[tuple[str, bool, bool], PublishedUtilization] = {
    ("ampere", False, False): PublishedUtilization(
        # The lowest are BLOOM's, of 2022, without fused attention.
        0.22,
        0.54,
        0.65,
        f"{_FOUNDRY}; bigscience-workshop/bigscience chronicles",
    ),
    ("hopper", False, False): PublishedUtilization(
        0.26, 0.41, 0.48, f"{_FOUNDRY}; NVIDIA/Megatron-LM README; arXiv:2407.21783"
    ),
    ("hopper", True, False): PublishedUtilization(
        0.28, 0.79, 0.90, f"{_FOUNDRY}; {_BRIDGE}"
    ),
    ("hopper", True, True): PublishedUtilization(0.14, 0.26, 0.30, _BRIDGE),
    ("blackwell", False, True): PublishedUtilization(0.32, 0.41, 0.44, _BRIDGE),
    ("blackwell", True, False): PublishedUtilization(0.70, 0.86, 1.12, _BRIDGE),
    ("blackwell", True, True): PublishedUtilization(0.11, 0.44, 0.75, _BRIDGE),
}


def published_utilization(
    compute_capability: tuple[int, int], *, in_8_bits: bool, is_mixture: bool
) -> PublishedUtilization | None:
    """The published range for data-centre GPUs of that capability, if there is one."""
    architecture = architecture_of(compute_capability)
    return UTILIZATIONS.get((architecture or "", in_8_bits, is_mixture))


def compute_time(
    flops: float, gpus: int, peak_flops: float, published: PublishedUtilization
) -> Estimate:
    """Seconds in which published runs of the kind finish so many model FLOPs.

    These runs waited for their own communication, so that the upper end holds some.
    """
    ideal = flops / (gpus * peak_flops)
    return Estimate(
        ideal / published.middle,
        ideal / published.highest,
        ideal / published.lowest,
        "advisory",
        published.source,
        "models from one billion parameters on",
    )
