"""The estimated peak leaves too little of the GPU free.

Why it hurts: an estimate is right within some percent, and fragmentation, a longer
sequence or an evaluation step take the rest. The run stops out of memory hours in.

What passes: a peak below the share, where published runs of the same code base back the
estimate. Of what is not backed so, only the bounds are judged, by another rule.

Where it does not apply: a plan that the lower bound alone already excludes.

Source: memory readings of BLOOM, torchtitan, ms-swift: 100 rows within 15 percent, of
20 runs that ended out of memory 19 at or above 0.9 of the card.

Bad::

    # 75 of 80 GB by the estimate
    --micro-batch-size 4

Good::

    --micro-batch-size 2
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.memory import memory_forecast
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Headroom(Numbers):
    """What the estimate may take of one GPU."""

    peak_share: float


@rule(
    clause="MEM-020",
    confidence="calibrated",
    needs=("cluster.accelerator_memory_bytes",),
)
def estimated_peak_near_capacity(plan: TrainingPlan, limit: Headroom) -> Verdicts:
    """Judge the best value of the peak."""
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    total = memory_forecast(plan).named("total")
    peak, most = total.need(), limit.peak_share * capacity
    if peak.lower > capacity:
        return
    at = [plan.value(name) for name in _PLACES]
    if peak.upper <= most:
        taken = f"at most {gigabytes(peak.upper)} of {gigabytes(most)}"
        yield passed(taken, at=at, measured=peak.upper, required=most)
    elif peak.kind != "calibrated":
        yield unknown(total.note, missing=total.missing, at=at)
    elif peak.value < most:
        taken = f"about {gigabytes(peak.value)} of {gigabytes(most)}"
        yield passed(taken, at=at, measured=peak.value, required=most)
    else:
        yield fail(
            f"one GPU is estimated to hold {gigabytes(peak.value)} ({total.note}); "
            f"{limit.peak_share:.0%} of {gigabytes(capacity)} is {gigabytes(most)}",
            at=at,
            measured=peak.value,
            required=most,
            cost="the run may stop out of memory on its longest sequence",
        )


_PLACES = (
    "batch.micro_batch_size",
    "memory.recompute_mode",
    "parallelism.sharding_stage",
    "parallelism.tensor_parallel_size",
    "parallelism.pipeline_parallel_size",
)
