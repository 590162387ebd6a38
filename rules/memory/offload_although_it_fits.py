"""Offload of states that would fit into the GPU.

Why it hurts: gradients, optimizer state or weights cross PCIe in each step, some 50
times slower than device memory.

What passes: a plan that would not fit without offload.

Where it does not apply: no offload; debug runs.

Source: judged is the upper bound of the peak without offload, which 225 of 230
published readings keep, the others within 12 percent.

Bad::

    # 1 billion parameters on 8 GPUs of 80 GB
    "offload_optimizer": {"device": "cpu"}

Good::

    "offload_optimizer": {"device": "none"}
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.memory import memory_forecast, peak_otherwise
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_DEVICES = ("memory.optimizer_offload_device", "memory.parameter_offload_device")


class MemoryShare(Numbers):
    """Up to which share of the GPU a plan needs no offload."""

    peak_share: float


@rule(clause="MEM-009", confidence="calibrated", about=_DEVICES)
def offload_although_it_fits(plan: TrainingPlan, limit: MemoryShare) -> Verdicts:
    """Judge the peak that the plan would have without offload."""
    devices = [plan.value(name) for name in _DEVICES]
    devices = [device for device in devices if device.or_else("none") != "none"]
    if not devices or plan.value("run.role").value == "debug":
        return
    capacity = plan.value("cluster.accelerator_memory_bytes").need()
    peak, allowed = peak_otherwise(plan, offload=False), limit.peak_share * capacity
    if peak.upper <= allowed:
        yield fail(
            f"without offload one GPU would hold at most {gigabytes(peak.upper)}; "
            f"{limit.peak_share:.0%} of {gigabytes(capacity)} is {gigabytes(allowed)}",
            at=devices,
            measured=peak.upper,
            required=allowed,
            cost="each step moves the states over PCIe and waits for the host",
            remedy="Remove the offload of optimizer and parameters.",
        )
    elif peak.lower > allowed:
        yield passed(at=devices, measured=peak.lower, required=allowed)
    else:
        yield unknown(
            f"without offload one GPU would hold at least {gigabytes(peak.lower)} of "
            f"{gigabytes(allowed)}",
            missing=memory_forecast(plan).named("total").missing,
            at=devices,
        )
