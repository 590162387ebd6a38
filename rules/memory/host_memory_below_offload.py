"""More is offloaded than the host has memory.

Why it hurts: all ranks of a node offload to the same host. The kernel kills the job
while the optimizer is built, after the nodes are yours.

What passes: host memory above what the ranks offload at least.

Where it does not apply: no offload to the host; pipelines, whose stages differ.

Source: DeepSpeed runtime/zero: at least 12 bytes of each parameter with Adam; buffers
of the offload engine come on top and are not counted.

Bad::

    # 70 billion parameters on one node of 512 GB
    "offload_optimizer": {"device": "cpu"}

Good::

    "offload_optimizer": {"device": "nvme", "nvme_path": "/local"}
"""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.memory import host_forecast
from speccheck.validator.forecast.plan_facts import trains_adapter
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_DEVICES = ("memory.optimizer_offload_device", "memory.parameter_offload_device")
_HOST = "cpu"


class HostShare(Numbers):
    """What offloaded states may take of the host."""

    host_share: float


@rule(clause="MEM-021", confidence="lower_bound", about=_DEVICES)
def host_memory_below_offload(plan: TrainingPlan, limit: HostShare) -> Verdicts:
    """Judge what the ranks of a node offload against its memory."""
    devices = [plan.value(name) for name in _DEVICES]
    devices = [device for device in devices if device.or_else("none") != "none"]
    if {device.value for device in devices} != {_HOST} or trains_adapter(plan):
        return
    memory = plan.value("cluster.host_memory_bytes")
    available = limit.host_share * memory.need()
    moved = host_forecast(plan)
    if moved is None:
        return
    ranks = plan.value("cluster.gpus_per_node")
    at = [*devices, memory, ranks]
    result = f"the {ranks.value} ranks of a node offload at least"
    if moved.lower <= available:
        text = f"{result} {gigabytes(moved.lower)} of {gigabytes(available)}"
        yield passed(text, at=at, measured=moved.lower, required=available)
        return
    yield fail(
        f"{result} {gigabytes(moved.lower)} to the host, which has "
        f"{gigabytes(memory.need())}",
        at=at,
        measured=moved.lower,
        required=available,
        cost="the kernel kills the ranks while the optimizer is built",
    )
