"""Full recomputation of activations that would fit.

Why it hurts: the forward pass runs twice, about a third more compute in each step, to
save memory that nothing else uses.

What passes: a plan that needs the memory: without recomputation even its lower bound is
above the share.

Where it does not apply: other modes. Adapters are omitted.

Source: Korthikanti et al. 2022 (arXiv:2205.05198): full recomputation costs 30 to 40
percent of a step. Judged is the upper bound without recomputation.

Bad::

    # 20 of 80 GB without recomputation
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1

Good::

    --recompute-granularity selective
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.memory import memory_forecast, peak_otherwise
from speccheck.validator.forecast.plan_facts import trains_adapter
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Floor(Numbers):
    """Below which share of the GPU recomputation saves nothing that is needed."""

    full_recompute_floor: float


@rule(clause="MEM-004", confidence="calibrated", about=("memory.recompute_mode",))
def full_recomputation_without_need(plan: TrainingPlan, limit: Floor) -> Verdicts:
    """Judge the peak that the plan would have without recomputation."""
    mode = plan.value("memory.recompute_mode")
    if mode.value != "full" or trains_adapter(plan):
        return
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    peak, floor = peak_otherwise(plan, recompute=False), limit.full_recompute_floor
    allowed = floor * capacity
    if peak.upper < allowed:
        yield fail(
            f"all activations are recomputed, and without that one GPU would hold at "
            f"most {gigabytes(peak.upper)}, less than {floor:.0%} of "
            f"{gigabytes(capacity)} = {gigabytes(allowed)}",
            at=mode,
            measured=peak.upper,
            required=allowed,
            cost="about a third more compute in each step",
        )
    elif peak.lower >= allowed:
        yield passed(at=mode, measured=peak.lower, required=allowed)
    else:
        yield unknown(
            f"without recomputation one GPU would hold at least "
            f"{gigabytes(peak.lower)}; recomputation is of use from "
            f"{gigabytes(allowed)} on",
            missing=memory_forecast(plan).named("total").missing,
            at=mode,
        )
